package main

// Hosts killed while they create and end trees, and the processes that Recover leaves.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/journal"
)

// hosts counts trees with remaining processes after Recover has returned.
func hosts(r *run) {
	r.zero("trees with some left", "journals with records left", "other errors")
	r.each(func(i int, rnd *rand.Rand) {
		t := r.tree(i) // of everything that the host starts, and the host itself
		records := filepath.Join(r.dir, fmt.Sprint("journal", r.begun.UnixNano(), "-", i))
		defer os.RemoveAll(records)
		host := exec.Command(executable(), "children", "host", records, r.script(), fmt.Sprint(r.seed), fmt.Sprint(i))
		host.Env = append(os.Environ(), t.mark, "SOAK_LOG="+t.log)
		host.Stderr = os.Stderr
		stdout, err := host.StdoutPipe()
		if err == nil {
			err = host.Start()
		}
		if err != nil {
			r.fail("other errors", 1, "host: %v", err)
			return
		}
		bufio.NewReader(stdout).ReadString('\n') // it has begun
		time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
		host.Process.Kill()
		stdout.Close()
		host.Wait()
		ctx, cancel := bounded()
		defer cancel()
		named := new(survivors)
		begun := time.Now()
		recovered, err := journal.Recover(ctx, records)
		r.most("ms for the slowest Recover", time.Since(begun).Milliseconds())
		for _, was := range recovered {
			r.note("terminals recovered", 1)
			r.note("processes ended", int64(len(was.Ended)))
			named.add(was.Survivors)
		}
		if err != nil && !errors.Is(err, acpterm.ErrSurvivors) {
			r.fail("other errors", 1, "Recover: %v", err)
		}
		if left, _ := os.ReadDir(records); len(left) > 0 && err == nil {
			r.fail("journals with records left", 1, "%v", left)
		}
		awaitUnstarted(t, records)
		r.check(t, named, "recovered")
	})
}

// awaitUnstarted waits, for a minute at most, for children of a killed host that had not yet become their commands'
// programs. They run nothing, and end by themselves as soon as they get a processor. Recover does not wait for that.
func awaitUnstarted(t *tree, records string) {
	unstarted := func(p process) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		return bytes.Contains(line, []byte("\x00host\x00"+records+"\x00"))
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && slices.ContainsFunc(t.left(), unstarted); {
		time.Sleep(10 * time.Millisecond)
	}
}

// hostChild DIRECTORY SCRIPT SEED NUMBER creates and ends trees until it is killed, for 20 seconds at most.
func hostChild(args []string) {
	m := must(acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(args[0])}))
	end := time.Now().Add(20 * time.Second)
	fmt.Println("begun")
	var workers sync.WaitGroup
	for w := range 4 {
		rnd := rand.New(rand.NewPCG(uint64(number(args[2])), uint64(4*number(args[3])+w)))
		workers.Go(func() {
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				term, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: args[1],
					Args: []string{roles[rnd.IntN(len(roles))]}}, quick(time.Duration(rnd.IntN(30))*time.Millisecond))
				if err == nil {
					pause(rnd, 30*time.Millisecond)
					if rnd.IntN(3) == 0 {
						term.Kill(ctx)
					}
					m.Release(ctx, "s", term.ID())
				}
				cancel()
			}
		})
	}
	workers.Wait()
	m.Close()
}

// must returns value, or panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
