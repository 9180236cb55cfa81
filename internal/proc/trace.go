//go:build linux || darwin || freebsd || windows

package proc

// This file tells, for reports of bugs, how a tree is ended.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"
)

// TraceVariable is the environment variable that turns on the trace, if its value is TraceValue. It is read each time a
// tree is ended.
const (
	TraceVariable = "ACPTERM_DEBUG"
	TraceValue    = "proc"
)

// trace writes to standard error what one call of End or Gone finds and does. It names processes by ID, start and
// program, and contains no arguments and no variables, because these may be secret. A nil trace writes nothing.
type trace struct {
	log  *slog.Logger
	said map[string]bool // each finding is written once
	from time.Time
}

// newTrace returns nil if the trace is off.
func newTrace(leader int) *trace {
	if os.Getenv(TraceVariable) != TraceValue {
		return nil
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)).With("leader", leader)
	return &trace{log: log, said: make(map[string]bool), from: time.Now()}
}

// End sends a signal to the whole tree, at least once, and returns when no process of it runs or ctx is done. See end
// for the system at hand.
func (t *Tree) End(ctx context.Context, sig syscall.Signal) (left []int, doubt error) {
	t.trace = newTrace(t.pid)
	t.trace.begin(ctx, sig)
	left, doubt = t.end(ctx, sig)
	t.trace.finish(ctx, left, doubt)
	return left, doubt
}

func (t *trace) begin(ctx context.Context, sig syscall.Signal) {
	if t == nil {
		return
	}
	within := "no limit"
	if deadline, ok := ctx.Deadline(); ok {
		within = time.Until(deadline).Round(time.Millisecond).String()
	}
	t.log.Info("acpterm: ending a tree", "signal", SignalName(sig), "within", within)
}

// finish tells the result of End.
func (t *trace) finish(ctx context.Context, left []int, doubt error) {
	if t == nil {
		return
	}
	result := "gone"
	switch {
	case len(left) == 0 && doubt == nil:
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		result = "not gone in time"
	case ctx.Err() != nil:
		result = "not waited for, because the next step was forced"
	default:
		result = "not gone"
	}
	t.log.Info("acpterm: ended a tree", "result", result, "after", time.Since(t.from).Round(time.Microsecond),
		"left", fmt.Sprint(left), "doubt", doubt)
}

// found tells that a process is a member, and why.
func (t *trace) found(pid int, started uint64, why string) {
	if t != nil {
		t.once("found", pid, started, why, nil)
	}
}

// sends tells the result of a signal to a process, a group or a job.
func (t *trace) sends(sig syscall.Signal, to string, pid int, err error) {
	if t != nil {
		t.once("sends "+SignalName(sig), pid, 0, to, err)
	}
}

func (t *trace) once(what string, pid int, started uint64, why string, err error) {
	key := fmt.Sprint(what, pid, why, err)
	if t.said[key] {
		return
	}
	t.said[key] = true
	var attrs []any
	if pid != 0 {
		name, exists := programOf(pid)
		if !exists && what == "leaves alone" {
			return // a number that no process has
		}
		attrs = append(attrs, "pid", pid, "program", name)
	}
	if started != 0 {
		attrs = append(attrs, "started", started)
	}
	attrs = append(attrs, "why", why)
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	t.log.Info("acpterm: "+what, attrs...)
}
