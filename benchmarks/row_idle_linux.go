package main

// What terminals cost while their commands do nothing. Each turn is in a fresh process.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/acpterm/acpterm"
)

// idler has many commands run that do nothing.
type idler interface {
	add(c command) error
	close()
}

type idleAcpterm struct{ m *acpterm.Manager }

func (i idleAcpterm) add(c command) error {
	_, err := i.m.Create(context.Background(), c.request(captureLimit))
	return err
}

func (i idleAcpterm) close() { i.m.Close() }

type idleNaive struct{ terminals *naiveTerminals }

func (i idleNaive) add(c command) error {
	_, err := i.terminals.create(c.path, c.args, nil, "", captureLimit)
	return err
}

func (i idleNaive) close() { i.terminals.releaseAll() }

// idleUse is what a process uses, or how much more.
type idleUse struct{ Threads, Resident, HeapAndStacks, IdleCPU float64 }

func idlers() map[string]func() idler {
	return map[string]func() idler{
		"acpterm": func() idler { return idleAcpterm{acpterm.NewManager(nil)} },
		"naive":   func() idler { return idleNaive{newNaiveTerminals()} },
	}
}

// reportIdle NAME TERMINALS IDLE: prints what so many idle terminals use more than one does, and the processor time in so
// many milliseconds, as JSON.
func reportIdle(args []string) error {
	i := idlers()[args[0]]()
	defer i.close()
	terminals := number(args[1])
	idle := system("sleep", "300")
	if err := i.add(idle); err != nil { // what the first one brings along is there then
		return err
	}
	before, err := useNow()
	if err != nil {
		return err
	}
	for range terminals {
		if err := i.add(idle); err != nil {
			return err
		}
	}
	after, err := useNow()
	if err != nil {
		return err
	}
	cpu := ownCPU()
	time.Sleep(time.Duration(number(args[2])) * time.Millisecond)
	return json.NewEncoder(os.Stdout).Encode(idleUse{
		Threads:       after.Threads - before.Threads,
		Resident:      (after.Resident - before.Resident) / float64(terminals),
		HeapAndStacks: (after.HeapAndStacks - before.HeapAndStacks) / float64(terminals),
		IdleCPU:       (ownCPU() - cpu).Seconds(),
	})
}

// useNow is what is in use once garbage is gone.
func useNow() (u idleUse, err error) {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.HeapAndStacks = float64(m.HeapAlloc + m.StackInuse)
	if u.Threads, err = procField(os.Getpid(), "status", "Threads"); err != nil {
		return u, err
	}
	u.Resident, err = procField(os.Getpid(), "smaps_rollup", "Rss")
	return u, err
}

func idling(name string, role role) subject {
	return simple(name, role, func(s scale) turn {
		return func(f findings) error {
			cmd := self("idle", name, s.of(amounts{500, 500, 50}), s.of(amounts{1000, 1000, 100})).cmd()
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("idle: %w", err)
			}
			var u idleUse
			if err := json.Unmarshal(out, &u); err != nil {
				return err
			}
			f.add("threads more", u.Threads)
			f.add("resident memory each", u.Resident)
			f.add("heap and stacks each", u.HeapAndStacks)
			f.add("CPU in an idle second", u.IdleCPU)
			return nil
		}
	})
}

func idleRows() []row {
	return []row{{
		name: "500 idle terminals", rounds: amounts{3, 1, 1},
		subjects: []subject{idling("acpterm", ours), idling("naive", peer)},
		metrics: []metric{
			{"threads more", count, median, target{limit: 5, compare: numberAtMost}},
			{"resident memory each", size, median, target{limit: 12 << 10, compare: numberAtMost}},
			{"heap and stacks each", size, median, target{limit: 12 << 10, compare: numberAtMost}},
			// The runtime's own housekeeping is in it, so nothing means less than a thousandth.
			{"CPU in an idle second", seconds, median, target{limit: 0.001, compare: numberAtMost}},
		},
	}}
}
