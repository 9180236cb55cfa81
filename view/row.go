package view

// One command as pages are told of it.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/acpterm/acpterm"
)

// maxText is how much of a command or a reason is shown. An agent can send megabytes.
const maxText = 8 << 10

// row is a command as its JSON. It is comparable, so that a change is seen.
type row struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	Command string `json:"command"`
	Program string `json:"program"`
	Shell   bool   `json:"shell"`
	Dir     string `json:"dir"`
	PID     int    `json:"pid,omitempty"`
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
	// Bytes is how much output there was, Dropped how much of that an agent cannot read any more.
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped"`
	// Survivors are the processes that withstood an ending, "12, 34".
	Survivors string `json:"survivors,omitempty"`
	CanStop   bool   `json:"canStop"`
	Stopping  bool   `json:"stopping"`
}

// makeRow is the entry as it is now. The table's mutex is held.
func (e *entry) makeRow(canStop bool) row {
	s := e.subject
	r := row{
		ID: string(s.TerminalID), Session: shown(string(s.SessionID)), Dir: shown(s.Dir), PID: s.PID,
		Command:   shown(acpterm.Command{Args: s.Args, ShellLine: s.ShellLine}.String()),
		Program:   shown(s.Path),
		Shell:     s.ShellLine != "",
		Started:   e.at.UnixMilli(),
		Rule:      shown(e.rule),
		Status:    shown(e.why),
		Survivors: pids(e.survivors),
		Stopping:  e.stops > 0,
	}
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
		return shown(err.Error()), false
	}
	return exit.String(), exit.Success() && t.EndedBy() == acpterm.EndedByItself
}

func (r row) json() []byte {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has no value that could fail
	}
	return data
}

// shown is a text as it can be shown to somebody who decides by it: of bounded length, and with characters that would
// hide or reorder others, or that are none, written out.
func shown(text string) string {
	cut := ""
	if len(text) > maxText {
		text, cut = text[:maxText], fmt.Sprintf(" … and %d bytes more", len(text)-maxText)
	}
	var b strings.Builder
	for _, c := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case c == '\n' || c == '\t':
			b.WriteRune(c)
		case unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || unicode.Is(unicode.Cf, c):
			fmt.Fprintf(&b, `\u{%x}`, c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String() + cut
}
