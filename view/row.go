package view

// row is a command as pages receive it.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// Limits, in bytes, for text chosen by the agent.
const (
	maxCommand  = 8 << 10
	maxArgument = 1 << 10 // if the command is longer than maxCommand
	maxText     = 4 << 10 // any other text
)

// row is comparable, so that == finds a change.
type row struct {
	// Key names the terminal in paths, SessionKey the session in the list of groups; see keyOf.
	Key        string `json:"key"`
	SessionKey string `json:"sessionKey"`
	// Number tells apart two terminals that successively had the same key.
	Number int64 `json:"number"`
	// Source is the name of the manager. Session is the session's name, or its id if it has no name. Named means that
	// it has one.
	Source  string `json:"source,omitempty"`
	Session string `json:"session"`
	Named   bool   `json:"named,omitempty"`
	// Earlier means that the command ran in an earlier run of the program.
	Earlier bool `json:"earlier,omitempty"`
	// Agent means that the agent owns the terminal. Its Command, Dir and size may change.
	Agent   bool   `json:"agent,omitempty"`
	Command string `json:"command"`
	Program string `json:"program"`
	Shell   bool   `json:"shell"`
	// By is the shell with its options, such as "bash -lc", if Command is the script that is its last argument.
	By  string `json:"by,omitempty"`
	Dir string `json:"dir"`
	PID int    `json:"pid,omitempty"`
	// PTY means that the command runs on a PTY. Input means that the page may type into it now.
	PTY   bool `json:"pty,omitempty"`
	Input bool `json:"input,omitempty"`
	// Columns and Rows are the size of the PTY, or the size that the agent gave its terminal, or 0.
	Columns int `json:"columns,omitempty"`
	Rows    int `json:"rows,omitempty"`
	// State is the name of the terminal's state, such as "running"; "stopping"; and at the end "finished", "stopped" by
	// a user, "killed", "timed out", "idle" or "denied"; "failed" if the command was allowed but not started; "released"
	// if the terminal is the agent's and its end was not seen, or "agent gone" if the agent ended before it; or
	// "connection lost".
	State string `json:"state"`
	// Idle is for how long the command was idle if the State is "idle", in milliseconds, or 0 if that is not known.
	Idle int64 `json:"idle,omitempty"`
	// Good means that the command ended by itself with code 0.
	Good bool `json:"good"`
	// Status is the exit status, such as "exit code 1", or the reason why the command did not run. It is empty if the
	// cause of the end is unknown.
	Status string `json:"status"`
	Rule   string `json:"rule,omitempty"`
	// Started and Ended are in milliseconds since 1970. Ended is 0 while the command runs.
	Started int64 `json:"started"`
	Ended   int64 `json:"ended"`
	// Activity is "input", "busy" or "idle" while a page shows the output of the running command. Listening has the
	// links to the ports that its processes listen on, or the addresses on another machine, separated by spaces.
	Activity  string `json:"activity,omitempty"`
	Listening string `json:"listening,omitempty"`
	size
	// Survivors lists the numbers of processes that survived a kill, such as "12, 34".
	Survivors string `json:"survivors,omitempty"`
	// Background means that a user has moved the running command to the background.
	Background bool `json:"background,omitempty"`
	CanStop    bool `json:"canStop"`
	Stopping   bool `json:"stopping"`
	// Editor is the address that opens a file in the user's editor, "command" if a request does, or "".
	Editor string `json:"editor,omitempty"`
	// StopError is the reason why the last stop failed, or why processes may still run after it.
	StopError string `json:"stopError,omitempty"`
}

// size is the part of a row that changes with each output.
type size struct {
	// Bytes is the size of all output, Dropped the size of the part beyond the terminal's limit. Output that the agent
	// has replaced does not count for either until the output exceeds it.
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped"`
}

// sizeUpdate replaces a row if only its size has changed.
type sizeUpdate struct {
	Key string `json:"key"`
	size
}

// newRow returns the part of a row that does not change.
func newRow(s acpterm.Subject) row {
	command, shell := shownCommand(s)
	return row{
		Session: printable(string(s.SessionID), maxText),
		Agent:   s.Attached, Dir: printable(s.Dir, maxText),
		Command: command, Program: printable(s.Path, maxText), Shell: s.ShellLine != "", By: shell, PID: s.PID,
	}
}

// describe applies the agent's changes to one of its own terminals.
func (e *entry) describe(c acpterm.Command) {
	if c.ShellLine == e.command.ShellLine && c.Dir == e.command.Dir {
		return
	}
	e.command = c
	e.fixed.Command, e.fixed.Shell = printable(c.ShellLine, maxCommand), c.ShellLine != ""
	e.fixed.Dir = printable(c.Dir, maxText)
}

// makeRow returns the entry's current row. The caller holds the table's mutex.
func (e *entry) makeRow(may permissions) row {
	var info acpterm.TerminalInfo
	if e.terminal != nil {
		info = e.terminal.Info()
	}
	if info.Attached {
		e.describe(info.Command)
	}
	r := e.fixed
	r.Started = e.at.UnixMilli()
	r.Rule, r.Status = e.rule, e.reason
	r.Survivors = pids(e.left.survivors)
	r.Stopping = e.stops > 0
	if e.archived != nil {
		e.archived.describeEnd(&r)
		r.show(e.activity)
		return r
	}
	if e.terminal == nil {
		r.State, r.Ended = "failed", r.Started
		if e.denied {
			r.State = "denied"
		}
		return r
	}
	r.State = stateOf(info)
	r.size = sizeOfOutput(info)
	if info.Size != nil {
		r.Columns, r.Rows = info.Size.Columns, info.Size.Rows
	}
	if info.Ended.IsZero() {
		r.Background = info.Backgrounded
		if r.Stopping {
			r.State = "stopping"
		}
	} else {
		r.Ended = e.at.Add(info.Ended.Sub(e.at)).UnixMilli() // although the clock may have been set
		r.Status, r.Good = endStatus(e.terminal)
		r.Idle = idleTime(info.ExitStatus)
	}
	if r.State == "released" || r.State == "agent gone" {
		r.Status = "" // only says that the end was not seen
	}
	r.show(e.activity)
	r.PTY, r.Input = info.HasPTY, may.input && takesInput(info)
	r.Editor = may.editor
	r.CanStop = may.stop && e.canStop(info)
	r.StopError = e.left.doubt
	if info.Ended.IsZero() {
		r.StopError = cmp.Or(e.stopError, r.StopError)
	}
	return r
}

// canStop reports whether a stop can have an effect. A second stop asks the agent again about its terminal; a third
// would not.
func (e *entry) canStop(info acpterm.TerminalInfo) bool {
	if info.Attached {
		return info.Cancellable && e.stops < maxStops
	}
	return info.Ended.IsZero() || e.stops > 0 || !e.left.empty()
}

// takesInput reports whether keyboard input can reach a terminal's command.
func takesInput(info acpterm.TerminalInfo) bool {
	return info.HasPTY && info.Ended.IsZero()
}

func sizeOfOutput(info acpterm.TerminalInfo) size {
	return size{Bytes: info.Written, Dropped: info.Written - info.Kept}
}

// stateOf returns the State of a started command: that of its terminal, and then the cause of its end.
func stateOf(info acpterm.TerminalInfo) string {
	switch info.EndedBy {
	case "":
		return info.State.String()
	case acpterm.EndedByItself:
		return "finished"
	case acpterm.EndedByUser:
		return "stopped"
	case acpterm.EndedByTimeout:
		return "timed out"
	case acpterm.EndedByIdle:
		return "idle"
	case acpterm.EndedByLostConnection:
		return "connection lost"
	case acpterm.EndedByAgentGone:
		return "agent gone"
	}
	if info.Attached && info.EndedBy != acpterm.EndedByKill {
		return "released"
	}
	return "killed"
}

// endStatus returns the status of an ended command.
func endStatus(t *acpterm.Terminal) (status string, good bool) {
	select {
	case <-t.Done():
	default:
		return "", false // its end is being published, and Wait would block
	}
	exit, err := t.Wait(context.Background())
	if err != nil {
		return statusText(nil, err.Error(), "")
	}
	return statusText(&exit, "", t.EndedBy())
}

// idleTime returns for how long a command was idle when it was ended for that, in milliseconds, or 0.
func idleTime(exit *acpterm.TerminalExitStatus) int64 {
	var meta struct {
		IdleMS int64 `json:"idleMs"`
	}
	if exit == nil || json.Unmarshal(exit.Meta["acpterm"], &meta) != nil {
		return 0
	}
	return meta.IdleMS
}

// statusText describes an exit status, or says why it is unknown.
func statusText(exit *acpterm.TerminalExitStatus, failure string, by acpterm.EndedBy) (status string, good bool) {
	switch {
	case exit == nil:
		return printable(failure, maxText), false
	case exit.ExitCode == nil && exit.Signal == nil:
		return "", false
	}
	return printable(exit.String(), maxText), exit.Success() && by == acpterm.EndedByItself
}

// prefix returns the longest prefix of whole characters within limit bytes.
func prefix(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// printable returns a text cut after limit bytes. It escapes invisible characters, and characters that hide or reorder
// others.
func printable(text string, limit int) string {
	var b strings.Builder
	for i, c := range text {
		if b.Len() >= limit {
			fmt.Fprintf(&b, " … and %d bytes more", len(text)-i)
			break
		}
		switch {
		case c == '\n' || c == '\t':
			b.WriteRune(c)
		case unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || unicode.Is(unicode.Cf, c):
			fmt.Fprintf(&b, `\u{%x}`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
