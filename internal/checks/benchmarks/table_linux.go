package main

// Formatting of results as lines of a Markdown table, with readable numbers.

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/acpterm/acpterm/internal/checks/benchmarks/bench"
)

func tableHead(subjects []string) string {
	return fmt.Sprintf("\n| what | %s | %s / best peer |\n|---|%s---|\n", strings.Join(subjects, " | "), subjects[0],
		strings.Repeat("---|", len(subjects)))
}

// unit formats a number.
type unit func(float64) string

func seconds(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a < 1e-3:
		return fmt.Sprintf("%.3g µs", v*1e6)
	case a < 1:
		return fmt.Sprintf("%.3g ms", v*1e3)
	}
	return fmt.Sprintf("%.3g s", v)
}

func bytesPerSecond(v float64) string { return fmt.Sprintf("%.0f MB/s", v/1e6) }
func perSecond(v float64) string      { return fmt.Sprintf("%.0f /s", v) }
func secondsPerGiB(v float64) string  { return seconds(v) + "/GiB" }
func count(v float64) string          { return fmt.Sprintf("%.0f", v) }

// markdown returns a line for each metric.
func (r result) markdown() string {
	var b strings.Builder
	for _, m := range r.row.metrics {
		fmt.Fprintf(&b, "| %s: %s |", r.row.name, m.name)
		for _, name := range r.row.columns() {
			fmt.Fprintf(&b, " %s |", r.cell(m, name))
		}
		fmt.Fprintf(&b, " %s |\n", r.ratio(m))
	}
	return b.String()
}

// ratio returns the first subject's number, divided by the best one of the peers.
func (r result) ratio(m metric) string {
	best := math.NaN()
	for _, peer := range peers() {
		if v := r.number(m, peer); math.IsNaN(best) || m.more && v > best || !m.more && v < best {
			best = v
		}
	}
	ratio := r.number(m, r.row.columns()[0]) / best
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}

// cell returns a subject's value of a metric, or its error.
func (r result) cell(m metric, name string) string {
	if err := r.errs[name]; errors.Is(err, errMissing) {
		return err.Error()
	} else if err != nil {
		return "FAILED: " + bench.Cell(err.Error())
	}
	v := r.number(m, name)
	if math.IsNaN(v) {
		return ""
	}
	text := m.unit(v)
	if all := r.found[name][m.name]; !m.total && v != 0 && len(all) >= 4 {
		text += fmt.Sprintf(" ±%.0f %%", 100*spread(all))
	}
	return text
}
