package main

// All scenarios at once, in one process with one manager.

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/journal"
)

// everything runs the other scenarios repeatedly in one manager, and compares this process's resources at the end with
// those after a warm-up. Its count is in seconds.
func everything(r *run) {
	length := time.Duration(r.count) * time.Second
	if r.seconds > 0 {
		length = min(length, time.Duration(r.seconds)*time.Second)
	}
	s, closeAll := r.serve(acpterm.Options{Journal: journal.Dir(filepath.Join(r.dir, "journal"))})
	warm := min(length/4, 30*time.Second)
	r.together(s, warm)
	before := ownResources()
	r.together(s, length-warm)
	may := slack{goroutines: 8, descriptors: 8, threads: max(8, before.threads/2), heap: 16 << 20, resident: 64 << 20}
	now := r.compare(before, may)
	fmt.Fprintf(os.Stderr, "everything: after %v: %v\neverything: at the end:  %v\n", warm, before, now)
	closeAll()
}

// together runs scenarios concurrently until the time is over.
func (r *run) together(s *served, length time.Duration) {
	parts := map[string]int{"races": 40, "bursts": 40, "reexecs": 20, "chains": 4}
	end := time.Now().Add(length)
	var workers sync.WaitGroup
	for _, sc := range scenarios() {
		if parts[sc.name] == 0 {
			continue
		}
		workers.Go(func() {
			for round := uint64(0); time.Now().Before(end); round++ {
				part := newPart(r, sc, parts[sc.name], round)
				part.serving, part.deadline = s, end
				sc.run(part)
				part.finish()
				r.take(part)
			}
		})
	}
	workers.Wait()
}

// newPart returns a short run of a scenario within this one.
func newPart(r *run, sc scenario, count int, round uint64) *run {
	part := newRun(r.settings, sc, r.dir)
	part.count, part.shared, part.host = count, true, r.host
	part.procs = max(1, r.procs/4)
	part.seed += 1000 * round
	return part
}

// take adds the figures of a part.
func (r *run) take(part *run) {
	r.done.Add(part.done.Load())
	part.mu.Lock()
	defer part.mu.Unlock()
	for _, f := range part.figures {
		switch {
		case f.failed:
			r.add(f.name, f.value, true)
		case f.name == "ms for the slowest kill":
			r.most(f.name, f.value)
		}
	}
}
