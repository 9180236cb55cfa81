package main

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed trees.sh
var treesScript []byte

const (
	// hangAfter is the maximum time of an item; a slower one counts as hung. It is longer than every grace period and
	// loop in it.
	hangAfter = 2 * time.Minute
	// maxHung is how many items may hang before the scenario begins no more.
	maxHung = 8
	// shownFailures is how many failures of a figure are described on standard error.
	shownFailures = 5
)

// run is a scenario in progress. Its methods are safe for concurrent use.
type run struct {
	settings
	scenario string
	dir      string // contains trees.sh
	count    int
	deadline time.Time
	begun    time.Time
	host     hostKindOf
	serving  *served // the manager used by the scenario
	shared   bool    // other scenarios use serving, and the process, too
	before   resources

	done atomic.Int64 // items
	hung atomic.Int64 // abandoned items

	mu      sync.Mutex
	figures []*figure
	trees   map[string]*tree // trees that may have processes left, by mark
}

// figure is a number in a scenario's line.
type figure struct {
	name   string
	value  int64
	failed bool // a value other than 0 is a failure
}

func newRun(s settings, sc scenario, dir string) *run {
	return &run{settings: s, scenario: sc.name, dir: dir, count: s.count(sc), deadline: s.deadline(), begun: time.Now(),
		trees: make(map[string]*tree), before: ownResources()}
}

// zero names figures that must be 0, so that they are printed even if they are.
func (r *run) zero(names ...string) {
	for _, name := range names {
		r.add(name, 0, true)
	}
}

// fail adds to a figure that must be 0, and prints the reason.
func (r *run) fail(name string, by int64, why string, args ...any) {
	if r.add(name, by, true) <= shownFailures {
		fmt.Fprintf(os.Stderr, "%s: %s: %s\n", r.scenario, name, fmt.Sprintf(why, args...))
	}
}

// note adds to a figure with no required value.
func (r *run) note(name string, by int64) { r.add(name, by, false) }

// most sets a figure to the maximum of its values.
func (r *run) most(name string, value int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.figureLocked(name, false)
	f.value = max(f.value, value)
}

func (r *run) add(name string, by int64, failed bool) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.figureLocked(name, failed)
	f.value += by
	return f.value
}

func (r *run) figureLocked(name string, failed bool) *figure {
	for _, f := range r.figures {
		if f.name == name {
			return f
		}
	}
	f := &figure{name: name, failed: failed}
	r.figures = append(r.figures, f)
	return f
}

func (r *run) value(name string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.figureLocked(name, false).value
}

func (r *run) ok() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.figures {
		if f.failed && f.value != 0 {
			return false
		}
	}
	return true
}

// line returns all figures. Those that must be 0 come first.
func (r *run) line() string {
	var b strings.Builder
	word := map[bool]string{true: "ok", false: "FAILED"}[r.ok()]
	fmt.Fprintf(&b, "%-10s %s: %d run", r.scenario, word, r.done.Load())
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, failed := range []bool{true, false} {
		for _, f := range r.figures {
			if f.failed == failed {
				fmt.Fprintf(&b, ", %d %s", f.value, f.name)
			}
		}
	}
	fmt.Fprintf(&b, " (seed %d, %.1f s)", r.seed, time.Since(r.begun).Seconds())
	return b.String()
}

// each calls a function for each of the scenario's items, some at a time, until the deadline.
func (r *run) each(f func(i int, rnd *rand.Rand)) {
	r.zero("hung")
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(r.procs, r.count) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= r.count || r.hung.Load() >= maxHung || r.late() {
					return
				}
				r.within(fmt.Sprint("item ", i), func() { f(i, rand.New(rand.NewPCG(r.seed, uint64(i)))) })
				r.done.Add(1)
			}
		})
	}
	workers.Wait()
}

// late reports whether the deadline has passed.
func (r *run) late() bool { return !r.deadline.IsZero() && time.Now().After(r.deadline) }

// within calls a function, and waits for it for a limited time.
func (r *run) within(what string, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	timer := time.NewTimer(hangAfter)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		r.hung.Add(1)
		r.fail("hung", 1, "%s took more than %v", what, hangAfter)
	}
}

// finish looks for processes left by the whole scenario.
func (r *run) finish() {
	r.sweep()
	if r.shared {
		r.serving.checkEnds(r)
		return
	}
	r.compare(r.before, slack{goroutines: 2, descriptors: 2})
}

// bounded returns a context for one call. It ends before the item counts as hung.
func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

// pause sleeps for a random time, often zero.
func pause(rnd *rand.Rand, most time.Duration) {
	if rnd.IntN(4) > 0 {
		time.Sleep(time.Duration(rnd.Int64N(int64(most))))
	}
}

func (r *run) script() string { return filepath.Join(r.dir, "trees.sh") }

// must returns value, or panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
