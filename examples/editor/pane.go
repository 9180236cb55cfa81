package editor

// A pane: one terminal as the user sees it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// paneBytes is how much text a pane holds. The terminal keeps its own; this is what can be scrolled through.
const paneBytes = 256 << 10

// Pane shows one terminal. All methods may be called concurrently.
type Pane struct {
	terminal *acpterm.Terminal
	ui       UI
	busy     *sync.WaitGroup

	mu     sync.Mutex
	text   string
	missed int64 // bytes that came faster than they were drawn
	note   string
}

// follow draws output as it comes. A slow Draw delays nothing but this loop: the command writes on, and its output is
// then drawn in one piece, or counted as missed.
func (p *Pane) follow() {
	for chunk := range p.terminal.Follow(context.Background(), 0) {
		p.mu.Lock()
		p.missed += chunk.Missed
		p.text = lastBytes(p.text+chunk.Text, paneBytes)
		p.mu.Unlock()
		p.ui.Draw(p)
	}
}

// awaitEnd draws how the command ended. It may leave something running that writes on: follow goes on then.
func (p *Pane) awaitEnd() {
	<-p.terminal.Done()
	p.ui.Draw(p)
}

// Text is the output that is shown, and how many bytes before its end were too fast for it.
func (p *Pane) Text() (text string, missed int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text, p.missed
}

// Title is the pane's first line: what runs, and how it goes.
func (p *Pane) Title() string {
	p.mu.Lock()
	note := p.note
	p.mu.Unlock()
	state := string(cmp.Or(p.terminal.EndedBy(), "running"))
	if status := p.terminal.Output().ExitStatus; status != nil {
		state += ", " + status.String()
	}
	return fmt.Sprintf("%s (%s)%s", p.terminal.Command(), state, note)
}

// Stop is the stop button. The command is asked to end and has the manager's grace for that; pressed again, it is made
// to.
func (p *Pane) Stop() {
	p.busy.Go(func() {
		err := p.terminal.Kill(context.Background())
		if errors.Is(err, acpterm.ErrSurvivors) {
			p.mu.Lock()
			p.note = ": " + err.Error()
			p.mu.Unlock()
		}
		p.ui.Draw(p)
	})
}

// lastBytes is the end of a text, in whole characters.
func lastBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}
