package main

// The time from a command's exit to the reply to the wait. The command prints the time just before it exits.

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// stamp: prints the current time and exits
func stamp([]string) error {
	_, err := os.Stdout.WriteString(strconv.FormatInt(int64(monotonic()), 10))
	return err
}

// latency runs the command stamp and returns the time from its exit to the reply.
func (p *process) latency() (time.Duration, error) {
	t, err := p.create(bench.Self("stamp")...)
	if err != nil {
		return 0, err
	}
	line, err := p.exchange(p.request(acpterm.MethodWaitForExit, t))
	then := monotonic()
	if err != nil {
		return 0, err
	}
	r, err := readReply(line)
	if err != nil {
		return 0, err
	}
	if err := exited(r.Result); err != nil {
		return 0, err
	}
	text, _, err := p.output(t)
	if err != nil {
		return 0, err
	}
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the time that a command printed: %w", err)
	}
	return then - time.Duration(at), p.release(t)
}

func exitRows() []row {
	return []row{{
		name: "exit to the wait's reply", rounds: 40,
		metrics: []metric{{name: "latency", unit: seconds}},
		open: func(s *stage, subject string) (turn, error) {
			p, err := s.start(subject)
			return func(f findings) error {
				for range s.Of(10, 2) {
					took, err := p.latency()
					if err != nil {
						return err
					}
					f.add("latency", took.Seconds())
				}
				return nil
			}, err
		},
	}}
}
