package main

// How a row is measured: its subjects take turns, round after round. It knows numbers and nothing of what they are of.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
)

// The subjects, by their names in the table.
const (
	bare  = "acpterm"
	full  = "with policy, events, follower"
	naive = "naive"
	goSDK = "Go SDK"
	node  = "Node"
)

func subjects() []string { return []string{bare, full, naive, goSDK, node} }

// settings are what holds for all rows. The zero value measures everything.
type settings struct {
	quick    bool
	rounds   int    // 0: as many as the row wants
	profiles string // the directory for CPU profiles; empty: none are written
}

// amount is how much is measured in a full run, and in a quick one.
type amount struct{ full, quick int }

func (s settings) of(a amount) int {
	if s.quick {
		return a.quick
	}
	return a.full
}

// row is something that is measured of all subjects.
type row struct {
	name    string // in the table, and for -only
	rounds  amount
	metrics []metric
	// open makes a subject ready for its turns, and returns what one turn does. What it opens it closes with s.after.
	open    func(s *stage, subject string) (turn, error)
	without string // why there is nothing to measure on this system; empty: there is
}

// turn measures a subject once, and adds what it finds. It fails when the subject does not do what it should.
type turn func(f findings) error

// stage is where a subject is measured in one row.
type stage struct {
	settings
	closers []func() error
}

// after has something done when the row is through; the last one first.
func (s *stage) after(do func() error) { s.closers = append(s.closers, do) }

func (s *stage) close() error {
	var errs []error
	for _, do := range slices.Backward(s.closers) {
		errs = append(errs, do())
	}
	return errors.Join(errs...)
}

// findings are numbers by the names of their metrics.
type findings map[string][]float64

func (f findings) add(metric string, value float64) { f[metric] = append(f[metric], value) }

// metric is one number that a row finds, a line in the table.
type metric struct {
	name    string
	unit    unit
	summary func([]float64) float64 // makes one number of all that were found in a run
	target  target
	slack   float64 // a difference that is chance
	free    bool    // the full configuration may take more of it than the bare one
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func sum(all []float64) float64 {
	total := 0.0
	for _, value := range all {
		total += value
	}
	return total
}

// errMissing is wrapped by the error of a subject that needs something which is not installed here.
var errMissing = errors.New("not measured")

// result is what came of a row.
type result struct {
	row   row
	found map[string]findings // by subject
	errs  map[string]error    // likewise, of those that could not be measured
}

// failure is what went wrong. That something is not installed is nothing wrong.
func (r result) failure() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.errs)) {
		if err := r.errs[name]; err != nil && !errors.Is(err, errMissing) {
			errs = append(errs, fmt.Errorf("%s: %s: %w", r.row.name, name, err))
		}
	}
	return errors.Join(errs...)
}

// number is what a subject's metric comes to; NaN where there is none.
func (r result) number(m metric, subject string) float64 {
	if all := r.found[subject][m.name]; len(all) > 0 && r.errs[subject] == nil {
		return m.summary(all)
	}
	return math.NaN()
}

// measure has the subjects take turns, in another order in each round. One that fails is left out from then on.
func (r row) measure(s settings) result {
	res := result{row: r, found: make(map[string]findings), errs: make(map[string]error)}
	if r.without != "" {
		return res
	}
	names := subjects()
	turns := make(map[string]turn)
	for _, name := range names {
		st := &stage{settings: s}
		defer func() {
			if err := st.close(); err != nil && res.errs[name] == nil {
				res.errs[name] = err
			}
		}()
		turns[name], res.errs[name] = r.open(st, name)
		res.found[name] = make(findings)
	}
	for range cmp.Or(s.rounds, s.of(r.rounds)) {
		for _, i := range rand.Perm(len(names)) {
			if name := names[i]; res.errs[name] == nil {
				runtime.GC() // so that no turn has this process's garbage of another
				res.errs[name] = turns[name](res.found[name])
			}
		}
	}
	return res
}
