package main

// The time to release terminals with running commands: many at once, the oldest and the newest of many, and one beside
// many newer processes of the machine.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
)

// sleepers creates terminals whose commands sleep, in a session.
func (p *process) sleepers(session string, n int) (all []terminal, err error) {
	for range n {
		t, err := p.createIn(session, system("sleep", "300"))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// releaseAll sends all releases before it reads the answers.
func (p *process) releaseAll(all []terminal) error {
	m := many{process: p, awaited: make(map[int]func(result json.RawMessage) error)}
	for _, t := range all {
		if err := m.send(acpterm.MethodRelease, t, func(json.RawMessage) error { return nil }); err != nil {
			return err
		}
	}
	return m.answers()
}

// timed adds the time of a function.
func (f findings) timed(metric string, do func() error) error {
	began := time.Now()
	err := do()
	f.add(metric, time.Since(began).Seconds())
	return err
}

// inNewClient returns an open function whose turns each have a new client.
func inNewClient(measure func(s *stage, p *process, f findings) error) func(*stage, string) (turn, error) {
	return func(s *stage, subject string) (turn, error) {
		return func(f findings) error {
			fresh := &stage{settings: s.settings}
			p, err := fresh.start(subject)
			if err == nil {
				err = measure(fresh, p, f)
			}
			return errors.Join(err, fresh.close())
		}, nil
	}
}

// foreign starts processes that have nothing to do with the client, and stops them at the end of the stage.
func (s *stage) foreign(n int) error {
	for range n {
		cmd := exec.Command("sleep", "300")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // its session is newer than the command's
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("a foreign process: %w", err)
		}
		s.after(func() error {
			err := cmd.Process.Kill()
			cmd.Wait()
			return err
		})
	}
	return nil
}

func releaseRows() []row {
	taken := func(name string, t target) metric {
		return metric{name: name, unit: seconds, summary: median, target: t}
	}
	return []row{{
		name: "release of 500 terminals at once", rounds: amount{7, 1},
		metrics: []metric{taken("time", target{atMost, 2, bestPeer})},
		open: inNewClient(func(s *stage, p *process, f findings) error {
			all, err := p.sleepers(session, s.of(amount{500, 50}))
			if err != nil {
				return err
			}
			return f.timed("time", func() error { return p.releaseAll(all) })
		}),
	}, {
		name: "release of one of 3,000 terminals", rounds: amount{3, 1},
		metrics: []metric{taken("oldest", target{}), taken("newest", target{})},
		open: inNewClient(func(s *stage, p *process, f findings) error {
			var all []terminal
			for _, session := range append(further(), session) {
				some, err := p.sleepers(session, s.of(amount{1000, 20}))
				if err != nil {
					return err
				}
				all = append(all, some...)
			}
			for i := range 10 {
				err := errors.Join(f.timed("oldest", func() error { return p.release(all[i]) }),
					f.timed("newest", func() error { return p.release(all[len(all)-1-i]) }))
				if err != nil {
					return err
				}
			}
			return p.releaseAll(all[10 : len(all)-10])
		}),
	}, {
		name: "release beside 1,000 newer processes", rounds: amount{7, 1},
		metrics: []metric{taken("time", target{atMost, 0.005, ""})},
		open: inNewClient(func(s *stage, p *process, f findings) error {
			all, err := p.sleepers(session, 10)
			if err != nil {
				return err
			}
			if err := s.foreign(s.of(amount{1000, 50})); err != nil {
				return err
			}
			for _, t := range all {
				err = errors.Join(err, f.timed("time", func() error { return p.release(t) }))
			}
			return err
		}),
	}}
}
