package main

// Every row once, so that none rots; and what the numbers are made into.
//
//	go test -bench . -benchtime 1x .

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain also makes the test binary one of the children.
func TestMain(m *testing.M) {
	if !child(os.Args) {
		os.Exit(m.Run())
	}
}

// BenchmarkRows measures as the program does, but each thing once. It fails where something cannot be measured. Node may be
// missing, which the output says, unless ACPTERM_REQUIRE_TYPESCRIPT is 1.
func BenchmarkRows(b *testing.B) {
	for _, r := range rows() {
		b.Run(r.name, func(b *testing.B) {
			for b.Loop() {
				result := r.measure(settings{scale: onceScale, rounds: 1})
				require.NoError(b, result.failure())
				for name, err := range result.errs {
					b.Logf("%s: %v", name, err)
				}
				for _, m := range r.metrics {
					if v := result.number(m, result.ours()); !math.IsNaN(v) {
						b.ReportMetric(v, metricUnit(m.name))
					}
				}
			}
		})
	}
}

// metricUnit is a metric's name without white space, which testing wants.
func metricUnit(name string) string {
	text := []rune(name)
	for i, c := range text {
		if c == ' ' {
			text[i] = '-'
		}
	}
	return string(text)
}

func TestSummaries(t *testing.T) {
	all := []float64{4, 1, 3, 10}
	require.Equal(t, 1.0, minimum(all))
	require.Equal(t, 10.0, maximum(all))
	require.Equal(t, 3.5, median(all))
	require.Equal(t, 3.0, median([]float64{5, 3, 1}))
	require.Equal(t, 18.0, sum(all))
}

func TestTargets(t *testing.T) {
	for _, test := range []struct {
		target       target
		ours, theirs float64
		compared     float64
		met          bool
	}{
		{target{2, "x", ratioAtMost}, 4, 2, 2, true},
		{target{2, "x", ratioAtMost}, 5, 2, 2.5, false},
		{target{0.9, "x", ratioAtLeast}, 9, 10, 0.9, true},
		{target{0.9, "x", ratioAtLeast}, 8, 10, 0.8, false},
		{target{1, "x", beyondAtMost}, 3, 2, 1, true},
		{target{1, "x", beyondAtMost}, 4, 2, 2, false},
		{target{5, "", numberAtMost}, 5, math.NaN(), 5, true},
		{target{5, "", numberAtMost}, 6, math.NaN(), 6, false},
		{target{5, "", numberAtLeast}, 5, math.NaN(), 5, true},
		{target{5, "", numberAtLeast}, 4, math.NaN(), 4, false},
	} {
		compared, met := test.target.judge(test.ours, test.theirs)
		require.InDelta(t, test.compared, compared, 1e-9, "%v", test)
		require.Equal(t, test.met, met, "%v", test)
	}
	_, met := target{2, "x", ratioAtMost}.judge(1, math.NaN())
	require.False(t, met, "a target against what is missing is not met")
}

// counting is a subject that finds its number of the turn, which all subjects share.
func counting(name string, role role, order *[]string, err error) subject {
	return simple(name, role, func(scale) turn {
		return func(f findings) error {
			*order = append(*order, name)
			f.add("turn", float64(len(*order)))
			return err
		}
	})
}

func TestSubjectsTakeTurns(t *testing.T) {
	var order []string
	r := row{
		name:   "order",
		rounds: amounts{full: 3},
		subjects: []subject{
			counting("acpterm", ours, &order, nil),
			counting("zero", floor, &order, nil),
			counting("broken", peer, &order, errors.New("it broke")),
			counting("absent", peer, &order, fmt.Errorf("%w: it is not here", errMissing)),
		},
		metrics: []metric{{"turn", count, maximum, target{0.5, "zero", ratioAtMost}}},
	}
	result := r.measure(settings{})
	require.Equal(t, []string{"acpterm", "zero", "broken", "absent", "acpterm", "zero", "acpterm", "zero"}, order)
	require.EqualError(t, result.failure(), "order: broken: it broke")
	require.Equal(t, "| order: turn | 7 | zero: 8 | broken: FAILED: it broke; absent: not measured: it is not here | 0.88 | "+
		"≤ 0.5 × zero | **no** |\n", result.markdown())
}

// TestStageCloses holds that what subjects open is closed in the end, and that a failure of that is one of the row's.
func TestStageCloses(t *testing.T) {
	var closed []int
	r := row{rounds: amounts{full: 1}, subjects: []subject{{"acpterm", ours, func(s *stage) (turn, error) {
		for i := range 2 {
			s.after(func() error { closed = append(closed, i); return nil })
		}
		s.after(func() error { return errors.New("it did not close") })
		return func(findings) error { return nil }, nil
	}}}}
	require.ErrorContains(t, r.measure(settings{}).failure(), "it did not close")
	require.Equal(t, []int{1, 0}, closed)
}

// TestRowsAreWhole holds that the subjects that targets name are there, and that the names of a row's subjects differ.
func TestRowsAreWhole(t *testing.T) {
	for _, r := range rows() {
		if r.without != "" {
			continue
		}
		names := make(map[string]bool)
		for _, one := range r.subjects {
			require.False(t, names[one.name], "%s has two of %s", r.name, one.name)
			names[one.name] = true
		}
		for _, m := range r.metrics {
			if m.target.against != "" {
				require.True(t, names[m.target.against], "%s: %s is held against %s", r.name, m.name, m.target.against)
			}
		}
		for _, p := range r.plot.points {
			require.True(t, names[p.subject], "%s plots %s", r.name, p.subject)
		}
	}
}

func TestPlotIsXML(t *testing.T) {
	r := row{name: "a < b", metrics: []metric{{"time", seconds, minimum, target{}}}, plot: plot{
		name: "p", x: "x", metric: "time", points: []point{{"s", 1, "one"}, {"s", 10, "ten"}, {"s", 100, "absent"}},
	}}
	drawn := result{row: r, found: map[string]findings{"one": {"time": {1}}, "ten": {"time": {2}}}}.svg()
	circles := 0
	for decoder := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "circle" {
			circles++
		}
	}
	require.Equal(t, 2, circles)
}

func TestEscape(t *testing.T) {
	require.Equal(t, `a\"b\\c\n\t\r\u001b✓`, string(escape(nil, []byte("a\"b\\c\n\t\r\x1b✓"))))
}
