package main

// The time to capture a command's output, from create to the reply to the wait. The last 1 MiB is kept.

import (
	"bytes"
	"errors"
	"time"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// writing measures commands that write total bytes, chunk bytes at a time.
func writing(name string, total, chunk int) row {
	metrics := []metric{
		{name: "throughput", unit: bytesPerSecond, more: true},
		{name: "client's CPU", unit: secondsPerGiB},
	}
	text := kept(bytes.Repeat(someOutput(chunk), outputLimit/chunk+1))
	return row{name: name, rounds: 20, metrics: metrics, open: func(s *stage, subject string) (turn, error) {
		p, err := s.start(subject)
		written := int64(s.Of(total, total/8))
		return func(f findings) error {
			cpu := cpuOf(p.pid)
			began := time.Now()
			t, err := p.create(bench.Self("write", written, chunk)...)
			if err != nil {
				return err
			}
			if err := p.wait(t); err != nil {
				return err
			}
			f.add("throughput", float64(written)/time.Since(began).Seconds())
			f.add("client's CPU", (cpuOf(p.pid)-cpu).Seconds()*(1<<30)/float64(written))
			if n := followersOf(subject); n > 0 {
				if err := p.haveFollowed(written * n); err != nil {
					return err
				}
			}
			if subject != onPTY { // its lines end differently
				err = p.expect(t, text, true)
			}
			return errors.Join(err, p.release(t))
		}, err
	}}
}

// followersOf returns the number of followers of each of a subject's terminals.
func followersOf(subject string) int64 { return map[string]int64{full: 1, followedByTen: 10}[subject] }

// expect fails unless a terminal's output is as expected.
func (p *process) expect(t terminal, text string, truncated bool) error {
	has, cut, err := p.output(t)
	if err == nil && has != text {
		return errors.New("the output is wrong")
	}
	if err == nil && cut != truncated {
		return errors.New("whether the output is truncated is wrong")
	}
	return err
}

func writeRows() []row {
	return []row{writing("64 KiB writes", 256<<20, 64<<10), writing("64 B writes", 16<<20, 64)}
}
