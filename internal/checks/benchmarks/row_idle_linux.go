package main

// The cost of terminals with idle commands, and that of each operation beside many of them. Each turn has a new client.

import (
	"errors"
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// idle first lets the client run some commands, and then adds the cost of idle terminals.
func (p *process) idle(terminals int, f findings) error {
	if err := p.runMany([]string{"true"}, 64, 16); err != nil {
		return err
	}
	threads, memory, err := useOf(p.pid)
	if err != nil {
		return err
	}
	all, err := p.sleepers(session, terminals)
	if err != nil {
		return err
	}
	threadsThen, memoryThen, err := useOf(p.pid)
	f.add("threads more", float64(threadsThen-threads))
	f.add("resident memory each", float64(memoryThen-memory)/float64(terminals))
	return errors.Join(err, p.releaseAll(all))
}

func useOf(pid int) (threads, memory int, err error) {
	if threads, err = bench.ProcField(pid, "status", "Threads"); err != nil {
		return 0, 0, err
	}
	memory, err = bench.ProcField(pid, "smaps_rollup", "Rss")
	return threads, memory, err
}

func kibibytes(v float64) string { return fmt.Sprintf("%.1f KiB", v/(1<<10)) }

func idleRows() []row {
	return []row{{
		name: "500 idle terminals", rounds: 5,
		metrics: []metric{
			{name: "threads more", unit: count},
			{name: "resident memory each", unit: kibibytes},
		},
		open: inNewClient(func(s *stage, p *process, f findings) error { return p.idle(s.Of(500, 50), f) }),
	}}
}

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
