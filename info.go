package acpterm

// What a host can show of a terminal and of a manager: snapshots.

import (
	"math"
	"time"
)

// TerminalInfo is a terminal at one moment. It shares nothing with the terminal.
type TerminalInfo struct {
	ID        TerminalID
	SessionID SessionID
	// Command is what really runs; the zero Command while the terminal is starting.
	Command Command
	// PID is the number of the command's process; 0 while the terminal is starting, or when that failed.
	PID   int
	State State
	// ExitStatus is how the command ended; nil while it runs, or when its end could not be seen.
	ExitStatus *TerminalExitStatus
	// EndedBy says what ended the command; empty while it runs.
	EndedBy EndedBy
	// Attached says that the terminal was made by Handler.Attach. Only such a terminal has the next two: Cancellable
	// says that Kill can ask the owner to end the command now, and Meta is what the owner has given it.
	Attached    bool
	Cancellable bool
	Meta        Meta
	// HasPTY says that the command runs on a PTY.
	HasPTY bool
	// Size is that of the PTY, or what the owner of an attached terminal said; nil if there is none.
	Size *TerminalSize
	// Created, Started and Ended are when the terminal was created, when its command was started and when it ended; a
	// time that has not come is zero.
	Created, Started, Ended time.Time
	// Written is how many bytes the command has written, without what an owner has replaced, and Kept how many of
	// those Output can show.
	Written, Kept int64
	// OutputByteLimit is how many bytes of output are kept for Output.
	OutputByteLimit int64
	// Limits are what the system enforces on the command, or what Options.Runner says is enforced. There are none while
	// the terminal is starting.
	Limits []EnforcedLimit
}

// Info returns what the terminal is at this moment. With a State of StateEnded, Written has all that the command itself
// wrote.
func (t *Terminal) Info() TerminalInfo {
	info := TerminalInfo{ID: t.id, SessionID: t.session, Created: t.created, OutputByteLimit: t.limit}
	t.mu.Lock()
	info.State, info.EndedBy, info.Started, info.Ended = t.state, t.endedBy, t.startedAt, t.endedAt
	info.ExitStatus = t.exitStatusLocked()
	if b := t.attached; b != nil {
		info.Attached, info.Meta = true, b.about.Meta.clone()
		info.Cancellable = b.ask != nil && info.State == StateRunning && !b.orphaned()
		if b.about.Size != nil {
			info.Size = new(*b.about.Size)
		}
	}
	if t.screen != nil {
		info.HasPTY, info.Size = true, new(t.size)
	}
	t.mu.Unlock()
	if info.State != StateStarting { // these are written before the state is
		info.Command = t.commandNow()
	}
	if info.State != StateStarting && t.tree != nil {
		info.PID = t.tree.PID()
		for _, l := range t.tree.Limits() {
			info.Limits = append(info.Limits, EnforcedLimit{
				Name: l.Name, Value: int64(min(l.Value, math.MaxInt64)), By: l.By, Tree: l.Tree,
			})
		}
	}
	info.Written = t.ring.Written() // after the state: the output is whole then
	info.Kept = min(info.Written, t.limit)
	return info
}

// Stats are what a manager has at one moment, and the quotas that it counts against.
type Stats struct {
	// Terminals are those that count against MaxTerminals: a terminal counts from its create until its tree is gone,
	// also after its release. Running are those whose command runs.
	Terminals, Running int
	// Sessions are those that are open or have terminals.
	Sessions int
	// ReservedBytes is the room for output that counts against MaxOutputBytes, and KeptBytes how much of it is used by
	// terminals that are not released.
	ReservedBytes, KeptBytes int64
	// PendingEvents wait for the hooks.
	PendingEvents int

	// MaxTerminals and MaxOutputBytes are those of Options, or their defaults.
	MaxTerminals   int
	MaxOutputBytes int64
}

// Stats returns what the manager has at this moment.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	s := Stats{
		Terminals: m.alive, Sessions: len(m.sessions), ReservedBytes: m.reserved,
		MaxTerminals: m.options.maxTerminals(), MaxOutputBytes: m.options.maxOutputBytes(),
	}
	m.mu.Unlock()
	for _, t := range m.Terminals() {
		if t.State() == StateRunning {
			s.Running++
		}
		s.KeptBytes += t.ring.Kept()
	}
	s.PendingEvents, _ = m.events.Waiting()
	return s
}
