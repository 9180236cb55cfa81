package main

// The time to kill a tree of three processes, and the number of processes still running when the reply arrives.

import (
	"fmt"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
)

// startTree runs a shell with two sleeping children, and returns the process ids of all three.
func (p *process) startTree() (t terminal, pids []int, err error) {
	t, err = p.create("sh", "-c", "sleep 300 & a=$!; sleep 300 & echo $$ $a $!; wait")
	for began := time.Now(); err == nil && time.Since(began) < 10*time.Second; time.Sleep(time.Millisecond) {
		var text string
		if text, _, err = p.output(t); strings.HasSuffix(text, "\n") {
			for field := range strings.FieldsSeq(text) {
				pids = append(pids, number(field))
			}
			return t, pids, err
		}
	}
	return t, nil, fmt.Errorf("the tree does not start: %w", err)
}

// killTree returns the time from a kill to its answer, and the number of processes still running then.
func (p *process) killTree() (took time.Duration, survivors int, err error) {
	t, pids, err := p.startTree()
	if err != nil {
		return 0, 0, err
	}
	line := p.request(acpterm.MethodKill, t)
	began := time.Now()
	answer, err := p.exchange(line)
	took = time.Since(began)
	for _, pid := range pids {
		if runs(pid) {
			survivors++
		}
	}
	if err != nil {
		return 0, 0, err
	}
	if _, err := readReply(answer); err != nil {
		return 0, 0, err
	}
	return took, survivors, p.release(t)
}

func killRows() []row {
	return []row{{
		name: "kill of a tree of three", rounds: 40,
		metrics: []metric{
			{name: "time", unit: seconds},
			{name: "still running at the reply, of all", unit: count, total: true},
		},
		open: func(s *stage, subject string) (turn, error) {
			p, err := s.start(subject)
			return func(f findings) error {
				for range s.Of(5, 2) {
					took, survivors, err := p.killTree()
					if err != nil {
						return err
					}
					if survivors > 0 && (subject == bare || subject == full) {
						return fmt.Errorf("%d processes run after the kill", survivors)
					}
					f.add("time", took.Seconds())
					f.add("still running at the reply, of all", float64(survivors))
				}
				return nil
			}, err
		},
	}}
}
