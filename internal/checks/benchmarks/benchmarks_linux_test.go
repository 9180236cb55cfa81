package main

// Run every row once, and test the table made of the numbers.
//
//	go test -bench . -benchtime 1x .

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
	"github.com/acpterm/acpterm/internal/racetest"
)

// TestMain also lets the test binary run the children.
func TestMain(m *testing.M) {
	if !bench.Child(children()) {
		racetest.Main(m)
	}
}

// BenchmarkRows measures like the program with -quick. It fails if something cannot be measured. Node may be missing
// unless ACPTERM_REQUIRE_TYPESCRIPT is 1; the output reports it.
func BenchmarkRows(b *testing.B) {
	for _, r := range rows() {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				result := r.measure(true)
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

func TestRatios(t *testing.T) {
	for _, test := range []struct {
		more    bool
		numbers map[string]float64
		want    string
	}{
		{false, map[string]float64{bare: 6, full: 1, naive: 4, goSDK: 3, node: 5}, "2.00"},
		{true, map[string]float64{bare: 6, full: 9, naive: 4, goSDK: 8}, "0.75"},
		{false, map[string]float64{bare: 0, naive: 0}, ""},
		{false, map[string]float64{bare: 1, naive: 0}, ""},
		{false, map[string]float64{bare: 1}, ""},
		{false, map[string]float64{naive: 1}, ""},
	} {
		found := make(map[string]findings)
		for subject, v := range test.numbers {
			found[subject] = findings{"number": {v}}
		}
		require.Equal(t, test.want, result{found: found}.ratio(metric{name: "number", more: test.more}), "%v", test)
	}
}

func TestSubjectsTakeTurns(t *testing.T) {
	turns := make(map[string]int)
	closed := make(map[string]int)
	r := row{
		name: "order", rounds: 3,
		metrics: []metric{{name: "turn", unit: count, total: true}},
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
	result := r.measure(false)
	require.Equal(t, map[string]int{bare: 3, full: 3, naive: 3, goSDK: 1}, turns)
	require.Equal(t, map[string]int{bare: 1, full: 1, naive: 1, goSDK: 1, node: 1}, closed)
	require.EqualError(t, result.failure(), "order: Go SDK: it broke")
	require.Equal(t, "| order: turn | 3 | 3 | 3 | FAILED: it broke | not measured: it is not here | 1.00 |\n",
		result.markdown())
}
