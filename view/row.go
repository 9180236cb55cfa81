package view

// One command as it is sent to pages.

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// An agent can send megabytes. In bytes, of which a little more is shown:
const (
	maxCommand  = 8 << 10 // of a command
	maxArgument = 1 << 10 // of each argument of a command that is longer
	maxText     = 4 << 10 // of any other text
)

// row is a command as its JSON. It is comparable, so that a change is seen.
type row struct {
	ID      acpterm.TerminalID `json:"id"`
	Session string             `json:"session"`
	Command string             `json:"command"`
	Program string             `json:"program"`
	Shell   bool               `json:"shell"`
	Dir     string             `json:"dir"`
	PID     int                `json:"pid,omitempty"`
	// State is "running", "stopping", "finished", "killed", "timed out", "denied" or "failed", which is a command that
	// was allowed and could not be started.
	State string `json:"state"`
	// Good says that the command ended by itself with code 0.
	Good bool `json:"good"`
	// Status is how it ended, for people: "exit code 1"; or why it did not run.
	Status string `json:"status"`
	Rule   string `json:"rule,omitempty"`
	// Started and Ended are in milliseconds since 1970; Ended is 0 until then.
	Started int64 `json:"started"`
	Ended   int64 `json:"ended"`
	size
	// Survivors are the processes that withstood an ending, "12, 34".
	Survivors string `json:"survivors,omitempty"`
	CanStop   bool   `json:"canStop"`
	Stopping  bool   `json:"stopping"`
}

// size is the part of a row that changes all the time.
type size struct {
	// Bytes is how much output there was, Dropped how much of that an agent cannot read any more.
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped"`
}

// sizeUpdate is what a page receives in place of a row of which it has the rest.
type sizeUpdate struct {
	ID acpterm.TerminalID `json:"id"`
	size
}

// newRow is the part of a row that never changes.
func newRow(s acpterm.Subject) row {
	return row{
		ID: s.TerminalID, Session: shown(string(s.SessionID), maxText), Dir: shown(s.Dir, maxText),
		Command: shownCommand(s), Program: shown(s.Path, maxText), Shell: s.ShellLine != "", PID: s.PID,
	}
}

// makeRow is the entry's row as it is now. The table's mutex is held.
func (e *entry) makeRow(canStop bool) row {
	r := e.fixed
	r.Started = e.at.UnixMilli()
	r.Rule, r.Status = e.rule, e.why
	r.Survivors = pids(e.survivors)
	r.Stopping = e.stops > 0
	if e.terminal == nil {
		r.State, r.Ended = "failed", r.Started
		if e.denied {
			r.State = "denied"
		}
		return r
	}
	t := e.terminal
	_, _, ended := t.Times()
	r.State = t.State().String()
	r.Bytes = t.OutputTotal()
	r.Dropped = max(0, r.Bytes-int64(t.OutputByteLimit()))
	if ended.IsZero() {
		if r.Stopping {
			r.State = "stopping"
		}
	} else {
		r.Ended = ended.UnixMilli()
		r.Status, r.Good = endOf(t)
	}
	r.CanStop = canStop && (ended.IsZero() || r.Stopping || r.Survivors != "")
	return r
}

// endOf is how a terminal's command ended, which it has.
func endOf(t *acpterm.Terminal) (status string, good bool) {
	select {
	case <-t.Done():
	default:
		return "", false // it is just about to be
	}
	exit, err := t.Wait(context.Background())
	if err != nil {
		return shown(err.Error(), maxText), false
	}
	return exit.String(), exit.Success() && t.EndedBy() == acpterm.EndedByItself
}

// shownCommand is a command as it can be shown. One that is too long has its arguments cut, so that the ones after a
// long one are seen.
func shownCommand(s acpterm.Subject) string {
	if s.ShellLine != "" {
		return shown(s.ShellLine, maxCommand)
	}
	total := 0
	for _, argument := range s.Args {
		total += len(argument) + 1
	}
	if total <= maxCommand {
		return shown(acpterm.Command{Args: s.Args}.String(), maxCommand)
	}
	var b strings.Builder
	for i, argument := range s.Args {
		if b.Len() >= maxCommand {
			fmt.Fprintf(&b, " … and %d arguments more", len(s.Args)-i)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		kept := head(argument, maxArgument)
		b.WriteString(shown(acpterm.Command{Args: []string{kept}}.String(), maxCommand))
		if len(kept) < len(argument) {
			fmt.Fprintf(&b, "… (%d bytes)", len(argument))
		}
	}
	return b.String()
}

// head is the first bytes of a text, at most limit of them, in whole characters.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// shown is a text as it can be shown to a person who decides by it: cut after so many bytes, and with
// characters that would hide or reorder others, or that are none, written out.
func shown(text string, limit int) string {
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
