package main

// Results as lines of a markdown table.

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

const tableHead = "| what | acpterm | floor | peers | ratio | target | met |\n|---|---|---|---|---|---|---|\n"

// unit writes a number for people.
type unit func(float64) string

func seconds(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a < 1e-6:
		return fmt.Sprintf("%.3g ns", v*1e9)
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
func fraction(v float64) string       { return fmt.Sprintf("%.2f", v) }

// threshold is a target for people.
func (t target) threshold(u unit) string {
	switch t.compare {
	case ratioAtMost:
		return fmt.Sprintf("≤ %.3g × %s", t.limit, t.against)
	case ratioAtLeast:
		return fmt.Sprintf("≥ %.3g × %s", t.limit, t.against)
	case beyondAtMost:
		return fmt.Sprintf("≤ %s more than %s", u(t.limit), t.against)
	case numberAtMost:
		return "≤ " + u(t.limit)
	case numberAtLeast:
		return "≥ " + u(t.limit)
	}
	return ""
}

// compared is what a target compares, for people.
func (t target) compared(v float64, u unit) string {
	switch t.compare {
	case ratioAtMost, ratioAtLeast:
		return fmt.Sprintf("%.2f", v)
	case beyondAtMost:
		if v > 0 {
			return "+" + u(v)
		}
		return u(v)
	}
	return ""
}

// markdown is one line for each metric.
func (r result) markdown() string {
	if r.row.without != "" {
		return fmt.Sprintf("| %s | %s | | | | | |\n", r.row.name, r.row.without)
	}
	var b strings.Builder
	for _, m := range r.row.metrics {
		compared, verdict := "", ""
		if m.target.compare != noComparison {
			v, met := m.target.judge(r.number(m, r.ours()), r.number(m, m.target.against))
			compared, verdict = m.target.compared(v, m.unit), map[bool]string{true: "yes", false: "**no**"}[met]
			if math.IsNaN(v) {
				compared, verdict = "", "not measured"
			}
		}
		fmt.Fprintf(&b, "| %s: %s | %s | %s | %s | %s | %s | %s |\n", r.row.name, m.name, r.cell(m, ours), r.cell(m, floor), r.cell(m, peer),
			compared, m.target.threshold(m.unit), verdict)
	}
	return b.String()
}

// ours is the name of the subject that the targets are for.
func (r result) ours() string {
	for _, one := range r.row.subjects {
		if one.role == ours {
			return one.name
		}
	}
	return ""
}

// cell is what the subjects of a role have for a metric; those without a word on it are left out.
func (r result) cell(m metric, of role) string {
	var parts []string
	for _, one := range r.row.subjects {
		if one.role != of {
			continue
		}
		text := ""
		if err := r.errs[one.name]; errors.Is(err, errMissing) {
			text = err.Error()
		} else if err != nil {
			text = "FAILED: " + strings.NewReplacer("\n", " ", "|", "/").Replace(err.Error())
		} else if v := r.number(m, one.name); !math.IsNaN(v) {
			text = m.unit(v)
		} else {
			continue
		}
		if one.name != "acpterm" {
			text = one.name + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
