package main

// The time to release terminals with running commands: many at once, the oldest and the newest of many, and one beside
// many newer processes of the machine.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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

// startSessions starts processes in sessions of their own. stop ends them.
func startSessions(n int) (stop func() error, err error) {
	var all []*exec.Cmd
	stop = func() (err error) {
		for _, cmd := range all {
			err = errors.Join(err, cmd.Process.Kill())
			cmd.Wait()
		}
		return err
	}
	for range n {
		cmd := exec.Command("sleep", "300")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, stop())
		}
		all = append(all, cmd)
	}
	return stop, nil
}

// sessions: starts processes in sessions of their own, prints a line, and ends them at the end of its input
func sessions(args []string) error {
	stop, err := startSessions(number(args[0]))
	if err != nil {
		return err
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, stop())
}

// anotherProgram starts the child sessions. stop ends it.
func anotherProgram(n int) (stop func() error, err error) {
	c := self("sessions", n)
	cmd := exec.Command(c.path, c.args...)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() error { return errors.Join(input.Close(), cmd.Wait()) }
	if _, err := output.Read(make([]byte, 1)); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// releaseBeside measures releases of terminals beside newer processes in sessions of their own.
func releaseBeside(others string, start func(n int) (stop func() error, err error), t target) row {
	return row{
		name: "release beside 1,000 newer processes of " + others, rounds: amount{7, 1},
		metrics: []metric{{name: "time", unit: seconds, summary: median, target: t}},
		open: inNewClient(func(s *stage, p *process, f findings) error {
			all, err := p.sleepers(session, 10)
			if err != nil {
				return err
			}
			stop, err := start(s.of(amount{1000, 50}))
			if err != nil {
				return err
			}
			for _, t := range all {
				err = errors.Join(err, f.timed("time", func() error { return p.release(t) }))
			}
			return errors.Join(err, stop())
		}),
	}
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
	},
		releaseBeside("another program", anotherProgram, target{atMost, 0.005, ""}),
		releaseBeside("the client's parent", startSessions, target{}),
	}
}
