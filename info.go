package acpterm

// Snapshots of a terminal and of a Manager, to show to a user.

import (
	"math"
	"time"
)

// TerminalInfo is a snapshot of a terminal. It shares no memory with the terminal.
type TerminalInfo struct {
	ID        TerminalID
	SessionID SessionID
	// Command is the resolved command. While the terminal is starting, it is the zero Command.
	Command Command
	// PID is the PID of the command, or 0 if it has not started.
	PID   int
	State State
	// ExitStatus is the exit status. It is nil while the command runs, and if its end could not be seen.
	ExitStatus *TerminalExitStatus
	// EndedBy says what ended the command. It is empty while the command runs.
	EndedBy EndedBy
	// Attached indicates that the terminal was made by Handler.Attach. Cancellable and Meta are only set for such
	// terminals: Cancellable says that Kill can ask the owner to end the command, and Meta is the metadata of the
	// owner.
	Attached    bool
	Cancellable bool
	Meta        Meta
	// HasPTY indicates that the command runs on a PTY.
	HasPTY bool
	// Size is the size of the PTY, or of an attached terminal if its owner has set it; otherwise nil.
	Size *TerminalSize
	// Created, Started and Ended are the times of the create, of the start and of the end of the command, or zero.
	Created, Started, Ended time.Time
	// Written is the number of bytes that the command has written, without replaced output of an attached terminal, and
	// Kept how many of them are within the limit of Output. With a PTY or invalid UTF-8, Output has other lengths.
	Written, Kept int64
	// OutputByteLimit is the limit of Output in bytes.
	OutputByteLimit int64
	// Cgroup is the directory of the command's cgroup, or empty.
	Cgroup string
	// Limits holds the enforced limits, or those that Options.Runner reports. While the terminal is starting, it is
	// nil.
	Limits []EnforcedLimit
}

// Info returns a snapshot of the terminal. If State is StateEnded, Written counts all output of the command itself.
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

// Stats is a snapshot of a Manager, with its quotas.
type Stats struct {
	// Terminals is the number that counts against MaxTerminals: a terminal counts from its create until its process
	// tree is gone, also after its release. Running is the number of running commands.
	Terminals, Running int
	// Sessions is the number of sessions: open ones, and those with terminals.
	Sessions int
	// ReservedBytes is the room for output that counts against MaxOutputBytes. KeptBytes is the part of it in use,
	// without released terminals.
	ReservedBytes, KeptBytes int64
	// PendingEvents is the number of events that wait for the hooks.
	PendingEvents int

	// MaxTerminals and MaxOutputBytes are the values of Options, or their defaults.
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
