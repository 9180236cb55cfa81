package main

// This file is the screen for the rest of the editor: a UI whose methods send messages to the bubbletea program, which
// has one goroutine. model.go handles them.

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
)

// frame is how long changes are collected before they are drawn.
const frame = 50 * time.Millisecond

// screen implements UI.
type screen struct {
	program *tea.Program
	log     scrollback // the agent's standard error, and the log of this program
	drawing atomic.Bool
}

// These messages go to the model.
type (
	frameMsg    struct{} // something has changed
	sayMsg      entry
	titleMsg    string
	askMsg      struct{ *dialog }
	withdrawMsg struct{ *dialog }
)

// changed tells the program to draw soon. It does not wait for that, so a flood of output does not delay its callers.
func (s *screen) changed() {
	if !s.drawing.Swap(true) {
		time.AfterFunc(frame, func() { s.program.Send(frameMsg{}) })
	}
}

func (s *screen) Draw(*Pane) { s.changed() }

func (s *screen) Say(by speaker, text string) { s.program.Send(sayMsg{by: by, text: text}) }

func (s *screen) ShowToolCall(call ToolCall) { s.program.Send(sayMsg{call: &call}) }

func (s *screen) Title(name string) { s.program.Send(titleMsg(name)) }

func (s *screen) Log(line string) {
	s.log.add(line + "\n")
	s.changed()
}

// Write logs this program's own lines. Directly on the terminal, they would be overdrawn.
func (s *screen) Write(lines []byte) (int, error) {
	s.Log("editor: " + strings.TrimSuffix(string(lines), "\n"))
	return len(lines), nil
}

func (s *screen) Ask(ctx context.Context, d Dialog) int {
	asked := newDialog(d)
	s.program.Send(askMsg{asked})
	select {
	case answer := <-asked.answer:
		return answer
	case <-ctx.Done():
		s.program.Send(withdrawMsg{asked})
		return noAnswer
	}
}
