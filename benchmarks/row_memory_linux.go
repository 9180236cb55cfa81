package main

// How much memory a client takes at the most while much more output goes through it than it keeps. Each turn has a fresh
// client.

import (
	"github.com/acpterm/acpterm"
)

func filling(name string, role role) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		if _, err := s.client(name); err != nil {
			return nil, err
		}
		return func(f findings) error {
			fresh := &stage{settings: s.settings}
			err := fill(fresh, name, f)
			if closeErr := fresh.close(); err == nil {
				err = closeErr
			}
			return err
		}, nil
	}}
}

// fill has a client capture, and then tell, the output. The client has served each method once before.
func fill(s *stage, name string, f findings) error {
	p, err := s.startClient(name)
	if err != nil {
		return err
	}
	small, err := p.create(trueCommand())
	if err != nil {
		return err
	}
	for _, method := range []string{acpterm.MethodWaitForExit, acpterm.MethodOutput, acpterm.MethodRelease} {
		if err := p.call(method, small, new(struct{})); err != nil {
			return err
		}
	}
	peak := func() (float64, error) { return procField(p.pid, "status", "VmHWM") }
	before, err := peak()
	if err != nil {
		return err
	}
	t, err := p.create(self("write", s.scale.of(amounts{10 << 30, 1 << 30, 16 << 20}), 64<<10, 0))
	if err != nil {
		return err
	}
	if err := p.call(acpterm.MethodWaitForExit, t, new(struct{})); err != nil {
		return err
	}
	captured, err := peak()
	if err != nil {
		return err
	}
	for range 3 {
		if err := p.call(acpterm.MethodOutput, t, new(struct{})); err != nil {
			return err
		}
	}
	told, err := peak()
	f.add("before", before)
	f.add("growth while capturing", captured-before)
	f.add("growth, three answers of 1 MiB too", told-before)
	return err
}

func memoryRows() []row {
	return []row{{
		name: "peak memory, 10 GiB (-quick: 1) through 1 MiB", rounds: amounts{1, 1, 1},
		subjects: []subject{filling("acpterm", ours), filling("naive", peer), filling("Go SDK", peer), filling("Node", peer)},
		metrics: []metric{
			{"before", size, median, target{}},
			{"growth while capturing", size, maximum, target{limit: 8 << 20, compare: numberAtMost}},
			{"growth, three answers of 1 MiB too", size, maximum, target{}},
		},
	}}
}
