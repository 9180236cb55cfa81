package main

// A pane: one terminal as the user sees it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// paneBytes is how much text a pane holds. The terminal keeps its own; this is what can be scrolled through.
const paneBytes = 128 << 10

// Pane shows one terminal. All methods may be called concurrently.
type Pane struct {
	terminal *acpterm.Terminal
	ui       UI
	busy     *sync.WaitGroup
	output   scrollback

	mu     sync.Mutex
	missed int64 // bytes that came faster than they were read
	note   string
}

// follow draws output as it comes. A slow Draw delays nothing but this loop: the command writes on, and its output is
// then drawn in one piece, or counted as missed.
func (p *Pane) follow() {
	p.ui.Draw(p) // before there is any
	var plain display.ANSIStripper
	for chunk := range p.terminal.Follow(context.Background(), 0) {
		if chunk.Replaced { // the agent's terminals alone: what is shown is void
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

// clear forgets the output.
func (p *Pane) clear() {
	p.mu.Lock()
	p.missed = 0
	p.mu.Unlock()
	p.output.clear()
}

// awaitEnd draws how the command ended. It may leave something running that writes on: follow goes on then.
func (p *Pane) awaitEnd() {
	<-p.terminal.Done()
	p.ui.Draw(p)
}

// Text is the output that is shown, without escape sequences, and how many bytes before its end were too fast for it.
func (p *Pane) Text() (text string, missed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.text(), p.missed
}

// OfAgent reports whether the agent runs the command itself.
func (p *Pane) OfAgent() bool { return p.terminal.Attached() }

// Command is what runs, safe to show, in most bytes at the most. The agent may say later what it runs itself.
func (p *Pane) Command(most int) string {
	return cmp.Or(display.Visible(p.terminal.Command().String(), most), "not known yet")
}

// State is whether it runs or how it ended, and what the user should know besides.
func (p *Pane) State() string {
	info := p.terminal.Info()
	state := string(cmp.Or(info.EndedBy, "running"))
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

// Running reports whether the command runs. What it left in the background does not count.
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

// Stop is the stop button. The command is asked to end and has the manager's grace for that; pressed again, it is made
// to. What the agent runs itself the agent is asked to end, if it offers that.
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

// annotate adds something to the state.
func (p *Pane) annotate(note string) {
	p.mu.Lock()
	p.note = note
	p.mu.Unlock()
	p.ui.Draw(p)
}

// scrollback holds the last paneBytes of a text, at least. All methods may be called concurrently.
type scrollback struct {
	mu    sync.Mutex
	bytes []byte
}

func (s *scrollback) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = append(s.bytes, text...)
	if len(s.bytes) > 2*paneBytes { // seldom, since it moves all that stays
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

// lastBytes is the end of a text, in whole characters.
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
