package main

// The cost of each operation beside many idle terminals.

import (
	"errors"
	"fmt"

	"github.com/acpterm/acpterm"
)

func scaleRows() (rows []row) {
	operations := []string{"create", "output", "kill", "release"}
	for _, n := range []int{1, 100, 1000, 5000} {
		r := row{
			name: fmt.Sprintf("beside %d idle terminals", n), rounds: 3,
			subjects: []string{large, naive},
			open: inNewClient(func(s *stage, p *process, f findings) error {
				idle, err := p.sleepers(session, s.Of(n, min(n, 50)))
				for i := 0; err == nil && i < 20; i++ {
					err = p.operations(f)
				}
				return errors.Join(err, p.releaseAll(idle))
			}),
		}
		for _, name := range operations {
			r.metrics = append(r.metrics, metric{name: name, unit: seconds})
		}
		rows = append(rows, r)
	}
	return rows
}

// operations measures one of each.
func (p *process) operations(f findings) error {
	var t terminal
	return errors.Join(
		f.timed("create", func() (err error) {
			t, err = p.create("sleep", "300")
			return err
		}),
		f.timed("output", func() error {
			_, _, err := p.output(t)
			return err
		}),
		f.timed("kill", func() error { return p.call(acpterm.MethodKill, t, &struct{}{}) }),
		f.timed("release", func() error { return p.release(t) }),
	)
}
