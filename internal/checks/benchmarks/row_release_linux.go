package main

// The time to release terminals with running commands: many at once, the oldest and the newest of many, and one beside
// many newer processes of the machine.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// sleepers creates terminals whose commands sleep, in a session.
func (p *process) sleepers(session string, n int) (all []terminal, err error) {
	for range n {
		t, err := p.createIn(session, []string{"sleep", "300"})
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
			fresh := &stage{Quick: s.Quick}
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

// sessions: on a line of input, starts processes in sessions of their own and prints a line; ends them with the input
func sessions(args []string) error {
	input := bufio.NewReader(os.Stdin)
	if _, err := input.ReadString('\n'); err != nil {
		return err
	}
	stop, err := startSessions(number(args[0]))
	if err != nil {
		return err
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, input)
	return errors.Join(err, stop())
}

// others starts processes that have nothing to do with the client, and stops them.
type others struct{ begin, stop func() error }

// ofAnotherProgram returns processes of a program that runs already.
func ofAnotherProgram(n int) (*others, error) {
	line := bench.Self("sessions", n)
	cmd := exec.Command(line[0], line[1:]...)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &others{
		begin: func() error {
			_, err := io.WriteString(input, "\n")
			if err == nil {
				_, err = output.Read(make([]byte, 1))
			}
			return err
		},
		stop: func() error { return errors.Join(input.Close(), cmd.Wait()) },
	}, cmd.Start()
}

// ofTheParent returns processes of the client's parent.
func ofTheParent(n int) (*others, error) {
	o := &others{stop: func() error { return nil }}
	o.begin = func() error {
		stop, err := startSessions(n)
		if err == nil {
			o.stop = stop
		}
		return err
	}
	return o, nil
}

// releaseBeside measures releases of terminals beside newer processes in sessions of their own.
func releaseBeside(whose string, make func(n int) (*others, error)) row {
	return row{
		name: "release beside 1,000 newer processes of " + whose, rounds: 7,
		metrics: []metric{{name: "first", unit: seconds}, {name: "others", unit: seconds}},
		open: func(s *stage, subject string) (turn, error) {
			return func(f findings) error {
				processes, err := make(s.Of(1000, 50))
				if err != nil {
					return err
				}
				fresh := &stage{Quick: s.Quick}
				p, err := fresh.start(subject)
				if err == nil {
					err = releasesBeside(p, processes, f)
				}
				return errors.Join(err, processes.stop(), fresh.close())
			}, nil
		},
	}
}

func releasesBeside(p *process, processes *others, f findings) error {
	all, err := p.sleepers(session, 5)
	if err != nil {
		return err
	}
	if err := processes.begin(); err != nil {
		return err
	}
	metric := "first"
	for _, t := range all {
		err = errors.Join(err, f.timed(metric, func() error { return p.release(t) }))
		metric = "others"
	}
	return err
}

func releaseRows() []row {
	return []row{{
		name: "release of 500 terminals at once", rounds: 7,
		metrics: []metric{{name: "time", unit: seconds}},
		open: inNewClient(func(s *stage, p *process, f findings) error {
			all, err := p.sleepers(session, s.Of(500, 50))
			if err != nil {
				return err
			}
			return f.timed("time", func() error { return p.releaseAll(all) })
		}),
	}, {
		name: "release of one of 3,000 terminals", rounds: 3,
		metrics: []metric{{name: "oldest", unit: seconds}, {name: "newest", unit: seconds}},
		open: inNewClient(func(s *stage, p *process, f findings) error {
			var all []terminal
			for _, session := range append(further(), session) {
				some, err := p.sleepers(session, s.Of(1000, 20))
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
		releaseBeside("another program", ofAnotherProgram),
		releaseBeside("the client's parent", ofTheParent),
	}
}
