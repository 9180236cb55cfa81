package main

// A thousand terminals that write at once, for a fixed time: how much of one writer's throughput they have together, and
// whether anybody starves.

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// crowd is a number of writers.
type crowd struct {
	create func(c command) error
	totals func() []float64 // bytes of each so far
	end    func() error
}

// writingAtOnce measures a crowd. The writers wait for a named pipe to be opened.
func writingAtOnce(name string, role role, size amounts, open func(s *stage) crowd) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		dir, err := os.MkdirTemp("", "crowd")
		if err != nil {
			return nil, err
		}
		s.after(func() error { return os.RemoveAll(dir) })
		gate := filepath.Join(dir, "gate")
		if err := unix.Mkfifo(gate, 0o600); err != nil {
			return nil, err
		}
		c := open(s)
		return func(f findings) (err error) {
			defer func() { err = cmp.Or(c.end(), err) }()
			for range s.scale.of(size) {
				if err := c.create(system("sh", "-c", `exec yes <"$0"`, gate)); err != nil {
					return err
				}
			}
			opened, err := os.OpenFile(gate, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer opened.Close()
			if err := allBegan(c); err != nil {
				return err
			}
			window := time.Duration(s.scale.of(amounts{3000, 2000, 200})) * time.Millisecond
			before, began := c.totals(), time.Now()
			time.Sleep(window)
			after, took := c.totals(), time.Since(began)
			for i := range after {
				after[i] -= before[i]
			}
			f.add("throughput", sum(after)/took.Seconds())
			f.add("the least progress, of the median", minimum(after)/median(after))
			return nil
		}, nil
	}}
}

// allBegan returns when each of a crowd is through the gate and has written, and buffers are as large as they will be: what one
// writer writes in three seconds is a thousand times what it takes for that, but a thousand write just ten times as much.
func allBegan(c crowd) error {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if totals := c.totals(); minimum(totals) > 0 && median(totals) > 2*captureLimit {
			return nil
		}
	}
	return errors.New("not all have written anything after 20 seconds")
}

func acptermCrowd(s *stage) crowd {
	m, ctx := s.manager(nil), context.Background()
	return crowd{
		create: func(c command) error { _, err := m.Create(ctx, c.request(captureLimit)); return err },
		totals: func() (all []float64) {
			for _, t := range m.Terminals() {
				all = append(all, float64(t.OutputTotal()))
			}
			return all
		},
		end: func() error { return m.ReleaseSession(ctx, "s") },
	}
}

func naiveCrowd(*stage) crowd {
	terminals := newNaiveTerminals()
	var all []*naiveTerminal
	return crowd{
		create: func(c command) error {
			id, err := terminals.create(c.path, c.args, nil, "", captureLimit)
			if err != nil {
				return err
			}
			t, err := terminals.get(id)
			all = append(all, t)
			return err
		},
		totals: func() (totals []float64) {
			for _, t := range all {
				totals = append(totals, float64(t.out.written.Load()))
			}
			return totals
		},
		end: func() error { terminals.releaseAll(); all = nil; return nil },
	}
}

// readCrowd reads what a crowd writes, a pipe, a goroutine and so many bytes of memory each, round and round: what the system
// takes for it, and the caches for keeping it. Each writer has a session, as it must to be killed with all that it starts: Linux gives
// each session as much of a processor as another (autogroups), and all readers are in one. Who has read fairAfter times what there was room for
// lets others go first, unless that is 0.
func readCrowd(size, fairAfter int) crowd {
	var commands []*exec.Cmd
	var written []*atomic.Int64
	return crowd{
		create: func(c command) error {
			cmd := c.cmd()
			cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
			out, err := cmd.StdoutPipe()
			if err != nil {
				return err
			}
			if err := cmd.Start(); err != nil {
				return err
			}
			total := new(atomic.Int64)
			commands, written = append(commands, cmd), append(written, total)
			go func() {
				memory := make([]byte, size)
				for at, full := 0, 0; ; {
					room := memory[at:min(at+readSize, size)]
					n, err := out.Read(room)
					at = (at + n) % size
					if n == len(room) {
						if full++; full == fairAfter {
							runtime.Gosched()
							full = 0
						}
					}
					total.Add(int64(n))
					if err != nil {
						return
					}
				}
			}()
			return nil
		},
		totals: func() (totals []float64) {
			for _, total := range written {
				totals = append(totals, float64(total.Load()))
			}
			return totals
		},
		end: func() error {
			for _, cmd := range commands {
				cmd.Process.Kill()
			}
			for _, cmd := range commands {
				cmd.Wait()
			}
			commands, written = nil, nil
			return nil
		},
	}
}

// crowdTurn is acpterm's turn.
const crowdTurn = 24

func crowdRows() []row {
	one := amounts{1, 1, 1}
	thousand := amounts{1000, 1000, 50}
	return []row{{
		name: "1,000 terminals writing at once", rounds: amounts{3, 1, 1},
		subjects: []subject{
			writingAtOnce("acpterm", ours, thousand, acptermCrowd),
			writingAtOnce("one writer", floor, one, acptermCrowd),
			writingAtOnce("1,000 read and discarded", floor, thousand, func(*stage) crowd { return readCrowd(readSize, 0) }),
			writingAtOnce("1,000 read around 1 MiB", floor, thousand, func(*stage) crowd { return readCrowd(captureLimit, 0) }),
			writingAtOnce("the same by turns", floor, thousand, func(*stage) crowd { return readCrowd(captureLimit, crowdTurn) }),
			writingAtOnce("naive", peer, thousand, naiveCrowd),
		},
		metrics: []metric{
			{"throughput", bytesPerSecond, median, target{0.9, "one writer", ratioAtLeast}},
			{"the least progress, of the median", fraction, minimum, target{limit: 0.1, compare: numberAtLeast}},
		},
	}}
}
