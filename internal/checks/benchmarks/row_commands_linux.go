package main

// The time to run commands that do nothing, from create to the reply to release.

import "time"

// running measures commands, at most atOnce concurrently.
func running(name string, atOnce int) row {
	return row{
		name: name, rounds: 40,
		metrics: []metric{
			{name: "commands", unit: perSecond, more: true},
			{name: "client's CPU for each", unit: seconds},
		},
		open: func(s *stage, subject string) (turn, error) {
			p, err := s.start(subject)
			return func(f findings) error {
				times := s.Of(64, 16)
				cpu := cpuOf(p.pid)
				began := time.Now()
				if err := p.runMany([]string{"true"}, times, atOnce); err != nil {
					return err
				}
				f.add("commands", float64(times)/time.Since(began).Seconds())
				f.add("client's CPU for each", (cpuOf(p.pid)-cpu).Seconds()/float64(times))
				return nil
			}, err
		},
	}
}

func commandRows() []row {
	return []row{running("create, wait, release of `true`, one by one", 1), running("the same, 16 in flight", 16)}
}
