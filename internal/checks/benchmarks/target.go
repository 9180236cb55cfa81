package main

// Targets for the numbers, and their evaluation.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// target is the required number of a subject. The zero value does not require anything.
type target struct {
	compare comparison
	limit   float64
	against string // a subject, bestPeer, or "" to compare the number itself
	of      string // the subject, or "" for the first one
}

type comparison int

const (
	noComparison comparison = iota
	atMost
	atLeast
)

// bestPeer is the peer with the best number.
const bestPeer = "best peer"

// fullLimit bounds the ratio of the full configuration's number to the bare one's.
const fullLimit = 1.2

// verdict is the result of a comparison.
type verdict struct {
	ours, theirs float64 // NaN if missing; theirs is 1 if the number itself is compared
	met          bool
}

func (v verdict) known() bool { return !math.IsNaN(v.ours) && !math.IsNaN(v.theirs) }

func (m metric) compare(ours, limit, theirs float64) verdict {
	met := ours <= limit*theirs+m.slack
	if m.target.compare == atLeast {
		met = ours >= limit*theirs-m.slack
	}
	return verdict{ours, theirs, met}
}

// judge compares a subject's number with the target.
func (r result) judge(m metric) verdict {
	theirs := 1.0
	switch m.target.against {
	case "":
	case bestPeer:
		var all []float64
		for _, peer := range peers() {
			if v := r.number(m, peer); !math.IsNaN(v) {
				all = append(all, v)
			}
		}
		switch {
		case all == nil:
			theirs = math.NaN()
		case m.target.compare == atLeast:
			theirs = slices.Max(all)
		default:
			theirs = slices.Min(all)
		}
	default:
		theirs = r.number(m, m.target.against)
	}
	return m.compare(r.number(m, cmp.Or(m.target.of, r.row.columns()[0])), m.target.limit, theirs)
}

// hasFull reports whether the row compares the full configuration's number with the bare one's.
func (r result) hasFull(m metric) bool { return !m.free && slices.Contains(r.row.columns(), full) }

// judgeFull compares the full configuration's number with the bare one's.
func (r result) judgeFull(m metric) verdict {
	limit := fullLimit
	if m.target.compare == atLeast {
		limit = 1 / fullLimit
	}
	return m.compare(r.number(m, full), limit, r.number(m, bare))
}

// missed returns the number of missed targets.
func (r result) missed() int {
	n := 0
	for _, m := range r.row.metrics {
		if m.target.compare == noComparison {
			continue
		}
		if v := r.judge(m); v.known() && !v.met {
			n++
		}
		if v := r.judgeFull(m); r.hasFull(m) && v.known() && !v.met {
			n++
		}
	}
	return n
}

// text formats a verdict: whether the target is met, and the ratio.
func (v verdict) text(t target) string {
	if !v.known() {
		return "not measured"
	}
	text := map[bool]string{true: "yes", false: "**no**"}[v.met]
	if t.against != "" && v.theirs != 0 {
		text += fmt.Sprintf(" (%.2f)", v.ours/v.theirs)
	}
	return text
}

// targetText formats the target of a metric.
func (m metric) targetText() string {
	t, text := m.target, map[comparison]string{atMost: "≤ ", atLeast: "≥ "}[m.target.compare]
	if t.of != "" {
		text = t.of + " " + text
	}
	switch {
	case t.compare == noComparison:
		return ""
	case t.against == "":
		return text + m.unit(t.limit)
	case t.limit != 1:
		text += fmt.Sprintf("%.3g × ", t.limit)
	}
	if text += t.against; m.slack > 0 {
		text += " + " + m.unit(m.slack)
	}
	return text
}
