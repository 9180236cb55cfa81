package main

// How long it takes to end a tree of three processes, and whether anything is left of it then.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// treeOfThree is a shell with two sleeping children. It prints the numbers of all three.
func treeOfThree() command {
	return system("sh", "-c", "sleep 300 & a=$!; sleep 300 & echo $$ $a $!; wait")
}

// tree is one that runs.
type tree struct {
	printed func() string
	ready   func(pids []int) error // nil: there is nothing to do before the kill
	kill    func() error           // returns when the tree is gone, as far as one looks for that
	clean   func()
}

// pids are the tree's processes; it returns when the tree has said which.
func (t tree) pids() (pids []int, err error) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if text := t.printed(); strings.HasSuffix(text, "\n") {
			for field := range strings.FieldsSeq(text) {
				pids = append(pids, number(field))
			}
			return pids, nil
		}
	}
	return nil, fmt.Errorf("the tree says only %q", t.printed())
}

func killing(name string, role role, open func(s *stage) func() (tree, error)) subject {
	return subject{name, role, func(s *stage) (turn, error) {
		start := open(s)
		return func(f findings) error {
			for range s.scale.of(amounts{5, 5, 1}) {
				t, err := start()
				if err != nil {
					return err
				}
				pids, err := t.pids()
				if err != nil {
					return err
				}
				if t.ready != nil {
					if err := t.ready(pids); err != nil {
						return err
					}
				}
				began := time.Now()
				err = t.kill()
				f.add("time", time.Since(began).Seconds())
				survivors := 0.0
				for _, pid := range pids {
					if runs(pid) {
						survivors++
					}
				}
				f.add("still running when it returned", survivors)
				t.clean()
				if err != nil {
					return err
				}
			}
			return nil
		}, nil
	}}
}

func acptermTree(s *stage) func() (tree, error) {
	m, ctx := s.manager(nil), context.Background()
	return func() (tree, error) {
		t, err := m.Create(ctx, treeOfThree().request(captureLimit))
		if err != nil {
			return tree{}, err
		}
		return tree{
			printed: func() string { return t.Output().Output },
			kill:    func() error { return t.Kill(ctx) },
			clean:   func() { m.Release(ctx, "s", t.ID()) },
		}, nil
	}
}

func naiveTree(*stage) func() (tree, error) {
	terminals := newNaiveTerminals()
	return func() (tree, error) {
		c := treeOfThree()
		id, err := terminals.create(c.path, c.args, nil, "", captureLimit)
		if err != nil {
			return tree{}, err
		}
		t, err := terminals.get(id)
		return tree{
			printed: func() string { text, _ := t.out.text(); return text },
			kill:    func() error { t.kill(); return nil },
			clean:   func() { terminals.release(id) },
		}, err
	}
}

// bareTree signals the group and reaps the leader; then, if it is asked to, it waits for the exit of the two others.
func bareTree(all bool) func(*stage) func() (tree, error) {
	return func(*stage) func() (tree, error) {
		return func() (tree, error) {
			c := treeOfThree()
			cmd := exec.Command(c.path, c.args...)
			cmd.SysProcAttr = ownGroup()
			out, err := os.CreateTemp("", "tree")
			if err != nil {
				return tree{}, err
			}
			cmd.Stdout = out
			if err := cmd.Start(); err != nil {
				return tree{}, err
			}
			var others []int // pidfds
			return tree{
				printed: func() string { text, _ := os.ReadFile(out.Name()); return string(text) },
				ready: func(pids []int) error {
					for _, pid := range pids {
						if all && pid != cmd.Process.Pid {
							fd, err := unix.PidfdOpen(pid, 0)
							if err != nil {
								return err
							}
							others = append(others, fd)
						}
					}
					return nil
				},
				kill: func() error {
					err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
					cmd.Wait()
					for _, fd := range others {
						awaitReadable(fd)
					}
					return err
				},
				clean: func() {
					for _, fd := range others {
						unix.Close(fd)
					}
					out.Close()
					os.Remove(out.Name())
				},
			}, nil
		}
	}
}

func killRows() []row {
	return []row{{
		name: "kill of a tree of three", rounds: amounts{20, 8, 1},
		subjects: []subject{
			killing("acpterm", ours, acptermTree),
			killing("signal and reap", floor, bareTree(false)),
			killing("signal and wait for all three", floor, bareTree(true)),
			killing("naive", peer, naiveTree),
		},
		metrics: []metric{
			{"time", seconds, median, target{0.0003, "signal and reap", beyondAtMost}},
			{"still running when it returned", count, sum, target{limit: 0, compare: numberAtMost}},
		},
	}}
}
