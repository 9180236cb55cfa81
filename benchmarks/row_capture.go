package main

// What it takes to move a command's output into memory.

import (
	"fmt"
	"time"
)

const captureLimit = 1 << 20

// capturing measures a runner on one command that writes total bytes, chunk at a time.
func capturing(name string, role role, total amounts, chunk int, open func(s *stage) runner) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		run, bytes := open(s), s.scale.of(total)
		return func(f findings) error {
			began, cpu := time.Now(), ownCPU()
			written, err := run(self("write", bytes, chunk, 0), captureLimit)
			if err != nil {
				return err
			}
			if written != int64(bytes) {
				return fmt.Errorf("%d bytes arrived of %d", written, bytes)
			}
			f.add("throughput", float64(bytes)/time.Since(began).Seconds())
			f.add("CPU", (ownCPU()-cpu).Seconds()*(1<<30)/float64(bytes))
			return nil
		}, nil
	}}
}

// capturingNode is the same for the Node client, over its connection.
func capturingNode(total amounts, chunk int) subject {
	return subject{"Node", peer, func(s *stage) (turn, error) {
		p, err := s.startClient("Node")
		bytes := s.scale.of(total)
		return func(f findings) error {
			cpu, _ := cpuOf(p.pid)
			took, err := p.run(self("write", bytes, chunk, 0))
			if err != nil {
				return err
			}
			f.add("throughput", float64(bytes)/took.Seconds())
			if after, ok := cpuOf(p.pid); ok {
				f.add("CPU", (after-cpu).Seconds()*(1<<30)/float64(bytes))
			}
			return nil
		}, err
	}}
}

// always is a runner that needs nothing.
func always(run runner) func(*stage) runner { return func(*stage) runner { return run } }

func ownAcpterm(s *stage) runner { return runAcpterm(s.manager(nil)) }

func captureSubjects(total amounts, chunk int) []subject {
	return append([]subject{
		capturing("acpterm", ours, total, chunk, ownAcpterm),
		capturing("read and discard", floor, total, chunk, always(readAndDiscard)),
		capturing("read around 1 MiB", floor, total, chunk, always(readAround)),
		capturing("append and trim", peer, total, chunk, always(runExecTrimming)),
		capturing("circbuf", peer, total, chunk, always(runCircbuf)),
		capturingNode(total, chunk),
	}, nappingSubjects(total, chunk)...)
}

func captureRows() []row {
	large := captureSubjects(amounts{256 << 20, 128 << 20, 8 << 20}, 64<<10)
	text := someOutput(captureLimit)
	into := make([]byte, captureLimit)
	large = append(large, simple("memcpy", floor, func(scale) turn {
		return func(f findings) error {
			for range 10 {
				began := time.Now()
				copy(into, text)
				f.add("throughput", float64(len(text))/time.Since(began).Seconds())
			}
			return nil
		}
	}))
	return []row{
		{
			name: "capture, written 64 KiB at a time, limit 1 MiB", rounds: amounts{10, 6, 1}, subjects: large,
			metrics: []metric{
				{"throughput", bytesPerSecond, median, target{0.90, "read and discard", ratioAtLeast}},
				{"CPU", secondsPerGiB, median, target{1.25, "read and discard", ratioAtMost}},
			},
		},
		{
			name: "capture, written 64 bytes at a time, limit 1 MiB", rounds: amounts{10, 6, 1},
			subjects: captureSubjects(amounts{16 << 20, 8 << 20, 1 << 20}, 64),
			metrics: []metric{
				{"throughput", bytesPerSecond, median, target{1.2, "append and trim", ratioAtLeast}},
				{"CPU", secondsPerGiB, median, target{}},
			},
		},
	}
}
