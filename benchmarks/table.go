package main

// Formatting of results as lines of a Markdown table, with readable numbers.

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

const tableHead = "| what | " + bare + " | " + full + " | " + naive + " | " + goSDK + " | " + node +
	" | target | met |\n|---|---|---|---|---|---|---|---|\n"

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
func percent(v float64) string        { return fmt.Sprintf("%.1f %%", v*100) }

// markdown returns a line for each metric.
func (r result) markdown() string {
	if r.row.without != "" {
		return fmt.Sprintf("| %s | %s | | | | | | |\n", r.row.name, r.row.without)
	}
	var b strings.Builder
	for _, m := range r.row.metrics {
		fmt.Fprintf(&b, "| %s: %s |", r.row.name, m.name)
		for _, name := range subjects() {
			fmt.Fprintf(&b, " %s |", r.cell(m, name))
		}
		met := ""
		if m.target.compare != noComparison {
			met = r.judge(m).text(m.target)
			if !m.free {
				met += "; " + r.judgeFull(m).text(target{against: bare})
			}
		}
		fmt.Fprintf(&b, " %s | %s |\n", m.targetText(), met)
	}
	return b.String()
}

// cell returns a subject's value of a metric, or its error.
func (r result) cell(m metric, name string) string {
	if err := r.errs[name]; errors.Is(err, errMissing) {
		return err.Error()
	} else if err != nil {
		return "FAILED: " + strings.NewReplacer("\n", " ", "|", "/").Replace(err.Error())
	}
	if v := r.number(m, name); !math.IsNaN(v) {
		return m.unit(v)
	}
	return ""
}
