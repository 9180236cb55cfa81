package view

// The commands of earlier runs, and those of this run that the table has forgotten, from Options.Archive. Their output
// stays in the archive's files.

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/archive"
)

// output is the output of a command: that of a terminal, or of an archived one.
type output interface {
	Follow(ctx context.Context, offset int64) iter.Seq[acpterm.Chunk]
	OutputTotal() int64
	Output() acpterm.TerminalOutputResponse
	Info() acpterm.TerminalInfo
	HasPTY() bool
	Attached() bool
	Done() <-chan struct{}
	Released() <-chan struct{}
}

// archived is an archived terminal.
type archived struct {
	*archive.Terminal
	over chan struct{} // closed
}

func newArchived(t *archive.Terminal) *archived {
	over := make(chan struct{})
	close(over)
	return &archived{t, over}
}

func (a *archived) HasPTY() bool              { return a.Info().HasPTY }
func (a *archived) Attached() bool            { return a.Info().Attached }
func (a *archived) Done() <-chan struct{}     { return a.over }
func (a *archived) Released() <-chan struct{} { return a.over }

// Output returns the text of a PTY. If it cannot be read, it returns the reason.
func (a *archived) Output() acpterm.TerminalOutputResponse {
	text, err := a.Text()
	if err != nil {
		text = printable(err.Error(), maxText)
	}
	return acpterm.TerminalOutputResponse{Output: text}
}

// addArchived adds the archived terminals.
func (t *table) addArchived(v *View) {
	if t.archive == nil {
		return
	}
	managers := make(map[string]*Source) // which are gone
	for _, terminal := range t.archive.Terminals() {
		info, name := terminal.Info(), terminal.Manager()
		if t.only != "" && info.SessionID != t.only {
			continue
		}
		from := managers[name]
		if from == nil {
			from = &Source{view: v, name: printable(name, maxText), stop: func() {}}
			managers[name] = from
		}
		t.added++
		command := info.Command
		e := &entry{
			session: session{from, info.SessionID}, command: command, at: info.Started, past: true,
			fixed: newRow(acpterm.Subject{
				SessionID: info.SessionID, Attached: info.Attached,
				Path: command.Path, Args: command.Args, Dir: command.Dir, ShellLine: command.ShellLine, PID: info.PID,
			}),
		}
		e.archived = newArchived(terminal)
		e.fixed.Key, e.fixed.Number = digest("archive "+terminal.Name()), t.added
		e.fixed.Source, e.fixed.Earlier = from.name, terminal.Earlier()
		e.fixed.SessionKey = digest(fmt.Sprintf("archive %d %s%s", len(name), name, info.SessionID))
		e.name(printable(terminal.SessionName(), maxText))
		t.entries[e.fixed.Key] = e
		t.order = append(t.order, e)
	}
}

// archiveLocked keeps the row of a past command that the table forgets, if the archive has it. It reports whether it
// does.
func (t *table) archiveLocked(e *entry) bool {
	if t.archive == nil || e.terminal == nil {
		return false
	}
	kept := t.archive.Find(e.session.source.name, e.session.id, e.terminal.ID())
	if kept == nil {
		return false
	}
	e.archived, e.terminal, e.timeline = newArchived(kept), nil, timeline{}
	return true
}

// forgetArchivedLocked removes the rows of terminals that the archive has removed.
func (t *table) forgetArchivedLocked() {
	kept := make(map[string]bool)
	for _, terminal := range t.archive.Terminals() {
		kept[terminal.Name()] = true
	}
	for i, e := range slices.Backward(t.order) {
		if e.archived != nil && !kept[e.archived.Name()] {
			t.removeLocked(i)
		}
	}
}

// forget removes an entry.
func (t *table) forget(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.order, e); i >= 0 {
		t.removeLocked(i)
		t.notifyLocked()
	}
}

// outputOf returns the output of a command, or nil if it did not run.
func (e *entry) outputOf() output {
	switch {
	case e.terminal != nil:
		return e.terminal
	case e.archived != nil:
		return e.archived
	}
	return nil
}

// describeEnd completes the row of an archived command.
func (a *archived) describeEnd(r *row) {
	info := a.Info()
	r.State, r.size, r.PTY = stateOf(info), sizeOfOutput(info), info.HasPTY
	if info.Size != nil {
		r.Columns, r.Rows = info.Size.Columns, info.Size.Rows
	}
	r.Ended, r.Idle = info.Ended.UnixMilli(), idleTime(info.ExitStatus)
	if r.State != "released" && r.State != "agent gone" {
		r.Status, r.Good = statusText(info.ExitStatus, a.Failure(), info.EndedBy)
	}
}
