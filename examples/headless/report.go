package main

// This file has the result of a job.

import (
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/acpterm/acpterm"
)

// result is the printed line about a job.
type result struct {
	Name       string   `json:"name"`
	StopReason string   `json:"stopReason,omitempty"`
	Error      string   `json:"error,omitempty"`
	Denied     []denial `json:"denied,omitempty"` // the first maxDenied
	// Agent says how the agent ended, if the job failed.
	Agent *agentEnd `json:"agent,omitempty"`
}

// denial is a command denied by a rule.
type denial struct {
	Command string `json:"command"`
	Rule    string `json:"rule,omitempty"`
	Reason  string `json:"reason"`
}

// agentEnd says how an agent ended, with the last lines of its standard error.
type agentEnd struct {
	Status string   `json:"status"`
	Stderr []string `json:"stderr,omitempty"`
}

// Agents choose the amount of each, so it is limited.
const (
	maxDenied = 100
	maxStderr = 10
)

// report collects the data of a result. Its methods are safe for concurrent use.
type report struct {
	job string

	mu     sync.Mutex
	denied []denial
	stderr []string // the last maxStderr lines
}

// event is passed to acpterm.Manager.Observe. No events follow the shutdown of the Manager.
func (r *report) event(event acpterm.Event) {
	decision, ok := event.(*acpterm.DecisionEvent)
	if !ok || !errors.Is(decision.Err, acpterm.ErrDenied) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := errors.AsType[*acpterm.Error](decision.Err); ok && len(r.denied) < maxDenied {
		r.denied = append(r.denied, denial{Command: e.Command, Rule: e.Rule, Reason: e.Reason})
	}
}

// stderrLine is passed to agentproc.Options.Stderr. No lines follow the shutdown of the agent.
func (r *report) stderrLine(line string) {
	slog.Info("agent", "job", r.job, "line", line)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stderr) == maxStderr {
		r.stderr = slices.Delete(r.stderr, 0, 1)
	}
	r.stderr = append(r.stderr, line)
}
