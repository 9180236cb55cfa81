package main

// What it takes to run a command that does nothing, through the Go API.

import "time"

// starting measures a runner on a command that does nothing.
func starting(name string, role role, open func(s *stage) runner) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		run := open(s)
		return func(f findings) error {
			for range s.scale.of(amounts{8, 8, 2}) {
				began, cpu := time.Now(), ownCPU()
				if _, err := run(trueCommand(), captureLimit); err != nil {
					return err
				}
				f.add("time", time.Since(began).Seconds())
				f.add("CPU", (ownCPU() - cpu).Seconds())
			}
			return nil
		}, nil
	}}
}

func startRows() []row {
	return []row{{
		name: "create, exit, wait, release of true", rounds: amounts{60, 20, 1},
		subjects: []subject{
			starting("acpterm", ours, ownAcpterm),
			starting("start and wait", floor, always(startAndWait)),
			starting("os/exec on one thread", floor, ownExecOnThread),
			starting("os/exec", peer, always(runExec)),
			starting("go-cmd", peer, always(runGoCmd)),
		},
		metrics: []metric{
			{"time", seconds, median, target{1.10, "os/exec", ratioAtMost}},
			{"CPU", seconds, median, target{}},
		},
	}}
}
