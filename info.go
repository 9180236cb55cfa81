package acpterm

// Snapshots of a terminal and of a Manager, to show to a user.

import (
	"math"
	"time"
)

// TerminalInfo is a snapshot of a terminal. It does not share memory with the terminal.
type TerminalInfo struct {
	ID        TerminalID
	SessionID SessionID
	// Command is the resolved command. It is the zero Command until the terminal has started.
	Command Command
	// PID is the command's PID, or 0 if it has not started.
	PID   int
	State State
	// ExitStatus is the exit status. It is nil while the command is running, or if its end was not observed.
	ExitStatus *TerminalExitStatus
	// EndedBy is the reason why the command ended. It is empty while the command is running.
	EndedBy EndedBy
	// Attached indicates that the terminal was created by Handler.Attach. Cancellable and Meta are only set in that
	// case. Cancellable indicates that Kill can ask the owner to end the command, and Meta holds the owner's metadata.
	Attached    bool
	Cancellable bool
	Meta        Meta
	// HasPTY indicates that the command runs on a PTY.
	HasPTY bool
	// Size is the size of the PTY, or of an attached terminal if its owner has set it, or nil.
	Size *TerminalSize
	// Created, Started and Ended are the times when the terminal was created and the command started and ended, or
	// zero.
	Created, Started, Ended time.Time
	// Written is the number of bytes written by the command, not including replaced output of an attached terminal, and
	// Kept the number of those within the limit of Output. With a PTY or invalid UTF-8, the length of Output differs.
	Written, Kept int64
	// OutputByteLimit is the limit of Output in bytes.
	OutputByteLimit int64
	// Cgroup is the directory of the command's cgroup, if any.
	Cgroup string
	// Limits lists the enforced limits, as reported by Options.Runner if it is set. It is nil until the terminal has
	// started.
	Limits []EnforcedLimit
}

// Info returns a snapshot of the terminal. If State is StateEnded, Written includes all of the command's own output.
func (t *Terminal) Info() TerminalInfo {
	info := TerminalInfo{ID: t.id, SessionID: t.session, Created: t.created, Size: t.store.size()}
	info.HasPTY = info.Size != nil
	t.mu.Lock()
	b := t.backend
	info.State, info.EndedBy, info.Started, info.Ended = t.state, t.end.by, t.startedAt, t.end.at
	info.ExitStatus, info.Command = t.exitStatusLocked(), t.command.clone()
	b.describe(&info)
	t.mu.Unlock()
	info.PID = b.PID()
	for _, l := range b.Limits() {
		info.Limits = append(info.Limits, EnforcedLimit{
			Name: l.Name, Value: int64(min(l.Value, math.MaxInt64)), By: l.By, Tree: l.Tree,
		})
	}
	info.Written = t.store.buffer().Written() // after the state: the output is whole then
	info.OutputByteLimit = t.store.limits().last
	info.Kept = min(info.Written, info.OutputByteLimit)
	return info
}

// Stats is a snapshot of a Manager and its quotas.
type Stats struct {
	// Terminals is the number of terminals that count towards MaxTerminals: a terminal counts until its process tree is
	// gone, even if it has been released before. Running is the number of running commands.
	Terminals, Running int
	// Sessions is the number of sessions: open ones, and those with terminals.
	Sessions int
	// ReservedBytes is the space for output that counts towards MaxOutputBytes. KeptBytes is the part of it in use, not
	// including released terminals.
	ReservedBytes, KeptBytes int64
	// PendingEvents is the number of events waiting for hooks.
	PendingEvents int

	// MaxTerminals and MaxOutputBytes are the values from Options, or their defaults.
	MaxTerminals   int
	MaxOutputBytes int64
}

// Stats returns a snapshot of the Manager.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	s := Stats{
		Terminals: m.alive, Sessions: len(m.sessions), ReservedBytes: m.reserved,
		MaxTerminals: m.options.maxTerminals(), MaxOutputBytes: m.options.maxOutputBytes(),
	}
	m.mu.Unlock()
	for _, t := range m.Terminals() {
		if t.State().alive() {
			s.Running++
		}
		s.KeptBytes += t.store.buffer().Kept()
	}
	s.PendingEvents, _ = m.events.Waiting()
	return s
}
