package main

// How a row is measured: its subjects take turns, round after round. It knows numbers and nothing of what they are of.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
)

// scale is how much is measured.
type scale int

const (
	fullScale scale = iota
	quickScale
	onceScale // each thing once, only to see that it works
)

// amounts are a number for each scale.
type amounts struct{ full, quick, once int }

func (s scale) of(a amounts) int { return [...]int{a.full, a.quick, a.once}[s] }

// settings are what holds for all rows. The zero value measures everything.
type settings struct {
	scale    scale
	rounds   int            // 0: as many as the row wants
	subjects *regexp.Regexp // nil: all
	profiles profiles
}

// row is something that is measured of several subjects.
type row struct {
	name     string // in the table, and for -only
	rounds   amounts
	subjects []subject
	metrics  []metric
	plot     plot   // the zero plot: none
	without  string // why there is nothing to measure on this system; empty: there is
}

// role is which column a subject is in.
type role int

const (
	ours role = iota
	floor
	peer
)

// subject is one of those that are measured.
type subject struct {
	name string
	role role
	// open makes ready what all turns need, and returns what one turn does. What it opens it closes with s.after.
	open func(s *stage) (turn, error)
}

// turn measures a subject once, and puts down what it finds.
type turn func(f findings) error

// simple is a subject with nothing to make ready.
func simple(name string, role role, t func(s scale) turn) subject {
	return subject{name, role, func(s *stage) (turn, error) { return t(s.scale), nil }}
}

// stage is where a subject is measured.
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
	summary summary
	target  target
}

// summary makes one number of all that were found in a run.
type summary func([]float64) float64

func minimum(all []float64) float64 { return slices.Min(all) }
func maximum(all []float64) float64 { return slices.Max(all) }

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

// target is what a metric should be. The zero target is none.
type target struct {
	limit   float64
	against string // the name of a subject; empty: the number itself counts
	compare comparison
}

type comparison int

const (
	noComparison  comparison = iota
	ratioAtMost              // ours / theirs ≤ limit
	ratioAtLeast             // ours / theirs ≥ limit
	beyondAtMost             // ours - theirs ≤ limit
	numberAtMost             // ours ≤ limit
	numberAtLeast            // ours ≥ limit
)

// judge is what a target makes of numbers: what it compares, and whether that is as it should be. It has nothing to say,
// which is NaN, where one is missing.
func (t target) judge(ours, theirs float64) (compared float64, met bool) {
	switch t.compare {
	case ratioAtMost:
		return ours / theirs, ours/theirs <= t.limit
	case ratioAtLeast:
		return ours / theirs, ours/theirs >= t.limit
	case beyondAtMost:
		return ours - theirs, ours-theirs <= t.limit
	case numberAtMost:
		return ours, ours <= t.limit
	case numberAtLeast:
		return ours, ours >= t.limit
	}
	return math.NaN(), false
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
	for name, err := range r.errs {
		if !errors.Is(err, errMissing) {
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

// measure has the subjects take turns. One that fails is left out from then on.
func (r row) measure(s settings) result {
	res := result{row: r, found: make(map[string]findings), errs: make(map[string]error)}
	if r.without != "" {
		return res
	}
	if s.subjects != nil {
		r.subjects = slices.DeleteFunc(r.subjects, func(one subject) bool { return !s.subjects.MatchString(one.name) })
		res.row = r
	}
	turns := make(map[string]turn)
	for _, one := range r.subjects {
		st := &stage{settings: s}
		defer func() {
			if err := st.close(); err != nil && res.errs[one.name] == nil {
				res.errs[one.name] = err
			}
		}()
		labelled(one.name, func() { turns[one.name], res.errs[one.name] = one.open(st) })
		res.found[one.name] = make(findings)
	}
	for range cmp.Or(s.rounds, s.scale.of(r.rounds)) {
		for _, one := range r.subjects {
			if res.errs[one.name] != nil {
				continue
			}
			runtime.GC() // nobody pays for what another one left
			labelled(one.name, func() { res.errs[one.name] = turns[one.name](res.found[one.name]) })
		}
	}
	for name, err := range res.errs {
		if err == nil {
			delete(res.errs, name)
		}
	}
	return res
}

// labelled does something whose samples in a profile bear a subject's name.
func labelled(name string, do func()) {
	pprof.Do(context.Background(), pprof.Labels("subject", name), func(context.Context) { do() })
}
