package main

// What it takes to run commands over a connection: each client is a process of its own, and the benchmark is its agent.

import (
	"fmt"
	"time"
)

// serving measures a process that runs commands which do nothing.
func serving(name string, role role, start func(s *stage) (*process, error), run func(p *process, times int) error) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		p, err := start(s)
		if err != nil {
			return nil, err
		}
		return func(f findings) error {
			times := s.scale.of(amounts{64, 64, 16})
			cpu, _ := cpuOf(p.pid)
			began := time.Now()
			if err := run(p, times); err != nil {
				return err
			}
			f.add("commands", float64(times)/time.Since(began).Seconds())
			if after, ok := cpuOf(p.pid); ok {
				f.add("client's CPU a command", (after-cpu).Seconds()/float64(times))
			}
			return nil
		}, nil
	}}
}

// servingClients are the floor and the clients, with so many commands under way at once.
func servingClients(atOnce int) []subject {
	client := func(name string, role role) subject {
		return serving(name, role, func(s *stage) (*process, error) { return s.startClient(name) },
			func(p *process, times int) error { return p.runMany(trueCommand(), times, atOnce) })
	}
	return append([]subject{
		client("acpterm", ours),
		serving("start and wait", floor, func(s *stage) (*process, error) { return s.start(self("starts", 0)) },
			func(p *process, times int) error {
				_, err := p.exchange(fmt.Appendln(nil, times, atOnce))
				return err
			}),
		client("naive", peer),
		client("Go SDK", peer),
		client("Node", peer),
	}, wireFloors(atOnce)...)
}

func wireRows() []row {
	metrics := []metric{
		{"commands", perSecond, median, target{1.1, "naive", ratioAtLeast}},
		{"client's CPU a command", seconds, median, target{0.85, "naive", ratioAtMost}},
	}
	return []row{
		{name: "true over a connection, one at a time", rounds: amounts{40, 20, 1}, subjects: servingClients(1), metrics: metrics},
		{name: "true over a connection, 16 at once", rounds: amounts{40, 20, 1}, subjects: servingClients(16), metrics: metrics},
	}
}
