package main

// This file has the pane: one terminal as the user sees it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// paneBytes is how much text a pane keeps for scrolling. The terminal keeps its own output.
const paneBytes = 128 << 10

// Pane shows one terminal. All methods are safe for concurrent use.
type Pane struct {
	terminal     *acpterm.Terminal
	conversation *Conversation
	ui           UI
	busy         *sync.WaitGroup
	output       scrollback

	mu     sync.Mutex
	missed int64 // bytes that came too fast to be read
	note   string
}

// follow draws output as it arrives. A slow Draw delays only this loop: the command continues to write, and its output
// is then drawn in one piece, or counted as missed.
func (p *Pane) follow() {
	p.ui.Draw(p) // before any output
	var plain display.ANSIStripper
	for chunk := range p.terminal.Follow(context.Background(), 0) {
		if chunk.Replaced { // only from an agent's own terminal: the shown output is void
			p.clear()
			plain = display.ANSIStripper{}
		}
		p.mu.Lock()
		p.missed += chunk.Missed
		p.mu.Unlock()
		p.output.add(plain.Strip(chunk.Text))
		p.ui.Draw(p)
	}
}

// clear discards the output.
func (p *Pane) clear() {
	p.mu.Lock()
	p.missed = 0
	p.mu.Unlock()
	p.output.clear()
}

// awaitEnd draws how the command ended. Background processes may continue to write: follow then continues too.
func (p *Pane) awaitEnd() {
	<-p.terminal.Done()
	p.ui.Draw(p)
}

// Text returns the shown output, without escape sequences, and the number of missed bytes before its end.
func (p *Pane) Text() (text string, missed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.text(), p.missed
}

// OfAgent reports whether the agent runs the command itself.
func (p *Pane) OfAgent() bool { return p.terminal.Attached() }

// Owner returns the name of the conversation that the command belongs to, safe to show.
func (p *Pane) Owner() string { return p.conversation.names.Name() }

// Duration returns how long the command has been running, or ran.
func (p *Pane) Duration() time.Duration {
	info := p.terminal.Info()
	from, to := info.Started, info.Ended
	if from.IsZero() { // the agent runs it, for instance
		from = info.Created
	}
	if to.IsZero() {
		to = time.Now()
	}
	return to.Sub(from)
}

// Command returns the command, safe to show, in at most the given number of bytes. The agent may name its own command
// later.
func (p *Pane) Command(most int) string {
	return cmp.Or(display.Visible(p.terminal.Command().String(), most), "not known yet")
}

// State returns whether the command runs or how it ended, with other notes for the user.
func (p *Pane) State() string {
	info := p.terminal.Info()
	state := cmp.Or(string(info.EndedBy), info.State.String())
	if info.ExitStatus != nil {
		state += ", " + info.ExitStatus.String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missed > 0 {
		state += fmt.Sprintf(", %d bytes missed", p.missed)
	}
	return state + p.note
}

// Running reports whether the command is running. Background processes do not count.
func (p *Pane) Running() bool { return p.terminal.EndedBy() == "" }

// Succeeded reports whether the command has ended with exit code 0.
func (p *Pane) Succeeded() bool {
	status := p.terminal.ExitStatus()
	return status != nil && status.Success()
}

// EndUnknown reports whether the command has ended and the agent, which ran it, has not said how.
func (p *Pane) EndUnknown() bool {
	status := p.terminal.ExitStatus()
	return status != nil && status.ExitCode == nil && status.Signal == nil
}

// Stop handles the stop button. It asks the command to end and gives it the manager's grace period. A second Stop ends
// the command by force. If the agent runs the command itself, Stop asks the agent to end it, if the agent offers that.
func (p *Pane) Stop() {
	note := " (stopping; again ends it at once)"
	if p.OfAgent() {
		note = " (the agent is asked to stop it)"
	}
	p.annotate(note)
	p.busy.Go(func() {
		err := p.terminal.Kill(context.Background())
		switch {
		case errors.Is(err, acpterm.ErrNotCancellable):
			p.annotate(" (the agent runs it and does not let it be stopped)")
		case errors.Is(err, acpterm.ErrSurvivors):
			p.annotate(" (" + err.Error() + ")")
		default:
			p.annotate("")
		}
	})
}

// annotate sets a note, which State includes.
func (p *Pane) annotate(note string) {
	p.mu.Lock()
	p.note = note
	p.mu.Unlock()
	p.ui.Draw(p)
}

// scrollback holds at least the last paneBytes of a text. All methods are safe for concurrent use.
type scrollback struct {
	mu    sync.Mutex
	bytes []byte
}

func (s *scrollback) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = append(s.bytes, text...)
	if len(s.bytes) > 2*paneBytes { // rarely, because it moves all kept bytes
		s.bytes = append(s.bytes[:0], lastBytes(s.bytes, paneBytes)...)
	}
}

func (s *scrollback) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = s.bytes[:0]
}

func (s *scrollback) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(lastBytes(s.bytes, paneBytes))
}

// lastBytes returns the last n bytes of text, from the first whole character on.
func lastBytes(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
