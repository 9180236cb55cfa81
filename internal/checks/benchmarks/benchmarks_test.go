package main

// Run every row once, and test the table made of the numbers.
//
//	go test -bench . -benchtime 1x .

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

// TestMain also lets the test binary run the children.
func TestMain(m *testing.M) {
	if !child(os.Args) {
		racetest.Main(m)
	}
}

// BenchmarkRows measures like the program with -quick. It fails if something cannot be measured. Node may be missing
// unless ACPTERM_REQUIRE_TYPESCRIPT is 1; the output reports it.
func BenchmarkRows(b *testing.B) {
	for _, r := range rows() {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				result := r.measure(settings{quick: true})
				require.NoError(b, result.failure())
				if err := result.errs[node]; err != nil {
					b.Logf("%s: %v", node, err)
				}
				for _, m := range r.metrics {
					if v := result.number(m, bare); !math.IsNaN(v) {
						b.ReportMetric(v, strings.ReplaceAll(m.name, " ", "-")) // testing does not allow white space
					}
				}
			}
		})
	}
}

func TestSummaries(t *testing.T) {
	require.Equal(t, 3.5, median([]float64{4, 1, 3, 10}))
	require.Equal(t, 3.0, median([]float64{5, 3, 1}))
	require.Equal(t, 18.0, sum([]float64{4, 1, 3, 10}))
	require.Equal(t, 0.25, spread([]float64{3, 5, 4, 2, 4, 6, 4}))
}

// resultOf returns a result with the given numbers, by subject.
func resultOf(m metric, numbers map[string]float64) result {
	m.name, m.unit = "number", count
	r := result{row: row{name: "row", metrics: []metric{m}}, found: make(map[string]findings)}
	for subject, v := range numbers {
		r.found[subject] = findings{m.name: {v}}
	}
	return r
}

func TestTargets(t *testing.T) {
	type numbers = map[string]float64
	for _, test := range []struct {
		target  target
		free    bool
		numbers numbers
		met     string
		missed  int
	}{
		{target{compare: atMost, limit: 2, against: naive}, false, numbers{bare: 8, full: 9, naive: 4}, "yes (2.00); yes (1.12)", 0},
		{target{compare: atMost, limit: 2, against: naive}, false, numbers{bare: 9, full: 9, naive: 4}, "**no** (2.25); yes (1.00)", 1},
		{target{compare: atLeast, limit: 2, against: naive}, false, numbers{bare: 8, full: 7, naive: 4}, "yes (2.00); yes (0.88)", 0},
		{target{compare: atLeast, limit: 3, against: naive}, false, numbers{bare: 8, full: 6, naive: 4}, "**no** (2.00); **no** (0.75)", 2},
		{target{compare: atLeast, limit: 2, against: naive}, true, numbers{bare: 8, full: 1, naive: 4}, "yes (2.00)", 0},
		{target{compare: atMost, limit: 1, against: bestPeer}, true, numbers{bare: 5, naive: 9, goSDK: 5, node: 7}, "yes (1.00)", 0},
		{target{compare: atLeast, limit: 1, against: bestPeer}, true, numbers{bare: 8, naive: 9, goSDK: 5}, "**no** (0.89)", 1},
		{target{compare: atMost, limit: 1, against: bestPeer}, false, numbers{bare: 0, full: 0, node: 0}, "yes; yes", 0},
		{target{compare: atMost, limit: 0}, true, numbers{bare: 0, naive: 7}, "yes", 0},
		{target{compare: atMost, limit: 0}, true, numbers{bare: 1, naive: 7}, "**no**", 1},
		{target{compare: atMost, limit: 1, against: bestPeer}, false, numbers{bare: 1}, "not measured; not measured", 0},
		{target{}, false, numbers{bare: 1}, "", 0},
	} {
		r := resultOf(metric{target: test.target, free: test.free}, test.numbers)
		require.Equal(t, test.missed, r.missed(), "%v", test)
		require.Contains(t, r.markdown(), "| "+test.met+" |\n", "%v", test)
	}
	r := resultOf(metric{target: target{compare: atMost, limit: 1, against: bestPeer}, slack: 1}, numbers{bare: 1, full: 3, node: 0})
	require.Equal(t, 1, r.missed())
	require.Contains(t, r.markdown(), "| ≤ best peer + 1 | yes; **no** (3.00) |\n")
}

func TestSubjectsTakeTurns(t *testing.T) {
	turns := make(map[string]int)
	closed := make(map[string]int)
	r := row{
		name: "order", rounds: amount{full: 3},
		metrics: []metric{{name: "turn", unit: count, total: true, target: target{compare: atMost, limit: 0.5, against: naive}}},
		open: func(s *stage, subject string) (turn, error) {
			s.after(func() error { closed[subject]++; return nil })
			if subject == node {
				return nil, fmt.Errorf("%w: it is not here", errMissing)
			}
			return func(f findings) error {
				turns[subject]++
				f.add("turn", 1)
				if subject == goSDK {
					return errors.New("it broke")
				}
				return nil
			}, nil
		},
	}
	result := r.measure(settings{})
	require.Equal(t, map[string]int{bare: 3, full: 3, naive: 3, goSDK: 1}, turns)
	require.Equal(t, map[string]int{bare: 1, full: 1, naive: 1, goSDK: 1, node: 1}, closed)
	require.EqualError(t, result.failure(), "order: Go SDK: it broke")
	require.Equal(t, "| order: turn | 3 | 3 | 3 | FAILED: it broke | not measured: it is not here | ≤ 0.5 × naive | "+
		"**no** (1.00); yes (1.00) |\n", result.markdown())
}
