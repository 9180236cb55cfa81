package acpterm

// Snapshots of a terminal and of a Manager, to show to a user.

import (
	"context"
	"iter"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// TerminalInfo is a snapshot of a terminal's state. It does not share any memory with the terminal.
type TerminalInfo struct {
	ID        TerminalID
	SessionID SessionID
	// Command is the resolved command, or the zero Command if the command has not been started yet.
	Command Command
	// PID is the command's PID, or 0 if the command has not been started.
	PID   int
	State State
	// ExitStatus is the exit status of the command, or nil if the command is running or its status is unknown.
	ExitStatus *TerminalExitStatus
	// EndedBy is the reason the command exited, or empty while the command is running.
	EndedBy EndedBy
	// Attached reports whether the terminal was created by Handler.Attach. If it was, Cancellable reports whether Kill
	// can ask the owner to stop the command, and Meta contains the metadata set by the owner.
	Attached    bool
	Cancellable bool
	Meta        Meta
	// Remote indicates that Options.Runner runs the command, so its PID, files and ports are those of another machine.
	Remote bool
	// Backgrounded indicates that Terminal.MoveToBackground has been called.
	Backgrounded bool
	// HasPTY indicates that the command runs on a PTY.
	HasPTY bool
	// Size is the size of the PTY or, for an attached terminal, the size set by its owner, if any.
	Size *TerminalSize
	// Created is the time the terminal was created. Started is set when the command starts; Ended is set when it exits.
	Created, Started, Ended time.Time
	// Written is the number of bytes written by the command, excluding replaced output of an attached terminal. Kept is
	// how many of those bytes are within the limit. Output may differ in length due to a PTY or invalid UTF-8.
	Written, Kept int64
	// OutputByteLimit is the maximum length of Output in bytes.
	OutputByteLimit int64
	// Cgroup is the directory of the command's cgroup, if it has one.
	Cgroup string
	// Limits lists the limits in force (reported by Options.Runner, if set). It is nil until the command has started.
	Limits []EnforcedLimit
}

// Info returns a snapshot of the terminal's state. Once the State is StateEnded, Written includes all of the command's
// own output.
func (t *Terminal) Info() TerminalInfo {
	info := TerminalInfo{ID: t.id, SessionID: t.SessionID(), Created: t.created, Size: t.store.size()}
	info.HasPTY = info.Size != nil
	t.mu.Lock()
	b := t.backend
	info.State, info.EndedBy, info.Started, info.Ended = t.state, t.end.by, t.startedAt, t.end.at
	info.ExitStatus, info.Command, info.Backgrounded = t.exitStatusLocked(), t.command.clone(), t.agentWait.moved
	t.owner.describe(t, &info)
	t.mu.Unlock()
	info.PID = b.PID()
	info.Limits = b.limits()
	info.Written = t.store.buffer().Written() // after the state: the output is whole then
	info.OutputByteLimit = t.store.limits().last
	info.Kept = min(info.Written, info.OutputByteLimit)
	return info
}

// ProcessInfo describes a running process of a terminal's process tree.
type ProcessInfo = proc.Member

// Processes returns the running processes of the terminal's tree, in the order of their PIDs. If something about them
// cannot be read, it returns the rest with an error, which wraps errors.ErrUnsupported if none can be listed. It does
// so for an attached terminal: its owner started the processes, and nothing tells which ones belong to it. Once ctx is
// done, every error is ErrCancelled. Only a Runner can be slow to list processes.
func (t *Terminal) Processes(ctx context.Context) ([]ProcessInfo, error) {
	list, err := t.behind().processes(ctx)
	if err != nil {
		e := *runnerError(ctx, Command{}, "", err)
		e.Op, e.SessionID, e.TerminalID = "processes", t.SessionID(), t.id
		err = &e
	}
	return list, err
}

// Activity describes what a terminal's processes do: they wait for input, are busy, or are idle.
type Activity = proc.Activity

// Watch returns an iterator over the changes of the terminal's Activity. It looks twice per second. It stops when the
// tree is gone, the terminal is released, ctx is done, or processes cannot be listed. After other errors it goes on.
func (t *Terminal) Watch(ctx context.Context) iter.Seq2[Activity, error] {
	return func(yield func(Activity, error) bool) {
		if t.await(ctx, &t.started, "watch") == nil {
			proc.Watch(ctx, t.Processes, t.behind().Drain, t.Released(), yield)
		}
	}
}

// Stats contains statistics about a Manager.
type Stats struct {
	// Terminals is the number of terminals that count towards MaxTerminals. Terminals being released are included until
	// their process trees have exited. Running is the number of commands currently running.
	Terminals, Running int
	// Sessions is the number of sessions, including unopened and closed ones that still have terminals.
	Sessions int
	// ReservedBytes is the memory reserved for output, up to Options.MaxReservedBytes. KeptBytes is the amount
	// actually in use, excluding memory used by released terminals.
	ReservedBytes, KeptBytes int64
	// PendingEvents is the number of events not yet processed by the hooks.
	PendingEvents int
}

// Stats returns statistics about the Manager and the use of its quotas.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	s := Stats{Terminals: m.alive, Sessions: len(m.sessions), ReservedBytes: m.reserved}
	m.mu.Unlock()
	for _, t := range m.Terminals() {
		if t.State().alive() {
			s.Running++
		}
		s.KeptBytes += t.store.buffer().Kept()
		if polled := t.store.polled(); polled != nil && polled != t.store.buffer() {
			s.KeptBytes += polled.Kept()
		}
	}
	s.PendingEvents, _ = m.events.Waiting()
	return s
}
