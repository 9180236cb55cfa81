package main

// The measurement of a row: its subjects take turns, round after round. This file handles numbers without knowing their
// meaning.

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

// The names of the subjects in the table.
const (
	bare  = "acpterm"
	full  = "with policy, events, follower"
	naive = "naive"
	goSDK = "Go SDK"
	node  = "Node"
)

// The names of the subjects in the other tables: acpterm with something more than the bare one has.
const (
	large         = "acpterm, larger quotas"
	followedByTen = "ten followers of each"
	displayed     = "display.Follow"
	paged         = "live page open"
	onPTY         = "PTY"
	ofTheAgent    = "agent's own terminal"
	remotely      = "remote, through pipes"
)

// peers returns the clients without acpterm.
func peers() []string { return []string{naive, goSDK, node} }

// subjects returns acpterm and its peers.
func subjects() []string { return append([]string{bare, full}, peers()...) }

// row is a measurement of several subjects.
type row struct {
	name     string   // in the table, and for -only
	subjects []string // or nil for acpterm and its peers
	rounds   int      // of a full run; a quick run has one
	metrics  []metric
	// open prepares a subject and returns its turn. For everything that it opens, it registers a closer with s.after.
	open func(s *stage, subject string) (turn, error)
}

// turn measures a subject once and adds the results to f. It fails if the subject misbehaves.
type turn func(f findings) error

// stage is the state of a subject in one row.
type stage struct {
	bench.Quick
	closers []func() error
}

// after registers a function to call at the end of the row. The functions are called in reverse order.
func (s *stage) after(do func() error) { s.closers = append(s.closers, do) }

func (s *stage) close() error {
	var errs []error
	for _, do := range slices.Backward(s.closers) {
		errs = append(errs, do())
	}
	return errors.Join(errs...)
}

// findings maps the names of metrics to measured numbers.
type findings map[string][]float64

func (f findings) add(metric string, value float64) { f[metric] = append(f[metric], value) }

func (r row) columns() []string {
	if r.subjects == nil {
		return subjects()
	}
	return r.subjects
}

// metric is a number measured by a row. It is a line in the table.
type metric struct {
	name  string
	unit  unit
	more  bool // a larger number is better
	total bool // the sum of the numbers of a run counts, and not their median
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// spread returns half the distance between the quartiles, as a share of the median.
func spread(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[3*n/4] - sorted[n/4]) / 2 / median(sorted)
}

func sum(all []float64) float64 {
	total := 0.0
	for _, value := range all {
		total += value
	}
	return total
}

// errMissing is wrapped by the error of a subject whose software is not installed.
var errMissing = errors.New("not measured")

// result is the result of a row.
type result struct {
	row   row
	found map[string]findings // by subject
	errs  map[string]error    // by subject, for those that could not be measured
}

// failure joins the errors of the subjects. Missing software is not a failure.
func (r result) failure() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.errs)) {
		if err := r.errs[name]; err != nil && !errors.Is(err, errMissing) {
			errs = append(errs, fmt.Errorf("%s: %s: %w", r.row.name, name, err))
		}
	}
	return errors.Join(errs...)
}

// number returns the value of a subject's metric, or NaN if it does not exist.
func (r result) number(m metric, subject string) float64 {
	if all := r.found[subject][m.name]; len(all) > 0 && r.errs[subject] == nil {
		if m.total {
			return sum(all)
		}
		return median(all)
	}
	return math.NaN()
}

// measure lets the subjects take turns, in a different order in each round. A failed subject does not get further
// turns.
func (r row) measure(quick bench.Quick) result {
	res := result{row: r, found: make(map[string]findings), errs: make(map[string]error)}
	names := r.columns()
	turns := make(map[string]turn)
	for _, name := range names {
		st := &stage{Quick: quick}
		defer func() {
			if err := st.close(); err != nil && res.errs[name] == nil {
				res.errs[name] = err
			}
		}()
		turns[name], res.errs[name] = r.open(st, name)
		res.found[name] = make(findings)
	}
	for range quick.Of(r.rounds, 1) {
		for _, i := range rand.Perm(len(names)) {
			if name := names[i]; res.errs[name] == nil {
				runtime.GC() // so that a turn does not pay for the garbage of another
				res.errs[name] = turns[name](res.found[name])
			}
		}
	}
	return res
}
