package main

// This file shows one terminal to the user.

import (
	"context"
	"fmt"
	"slices"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// mostShown limits how many bytes of a command are shown, unless the user asks for all of it.
const mostShown = 1200

// mostNames is the number of terminals whose names are kept.
const mostNames = 1000

// shownTerminal prints one terminal.
type shownTerminal struct {
	*acpterm.Terminal
	screen  *screen
	name    string // prefix of its lines
	command string // as last printed
}

// follow prints a terminal's output as it arrives. It does not wait for it.
func (s *screen) follow(t *acpterm.Terminal) {
	shown := &shownTerminal{Terminal: t, screen: s, name: s.addName(t)}
	shown.printCommand()
	s.following.Go(func() {
		shown.printOutput()
		shown.printCommand()
		s.print(shown.name+" = ", shown.end()+"\n")
	})
}

// addName names a new terminal.
func (s *screen) addName(t *acpterm.Terminal) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminals++
	name := fmt.Sprintf("[%d]", s.terminals)
	if t.Attached() {
		name = fmt.Sprintf("[agent %d]", s.terminals)
	}
	if _, again := s.names[t.ID()]; !again {
		s.named = append(s.named, t.ID())
	}
	s.names[t.ID()] = name
	if len(s.named) > mostNames {
		delete(s.names, s.named[0])
		s.named = slices.Delete(s.named, 0, 1)
	}
	return name
}

// printCommand prints the command if it is known and not yet printed. An agent may report its command late, or more
// precisely later on.
func (t *shownTerminal) printCommand() {
	command := display.Visible(t.Command().String(), mostShown)
	if command == "" || command == t.command {
		return
	}
	t.command = command
	t.screen.print(t.name+" $ ", command+"\n")
}

// printOutput prints a terminal's output until it ends, and removes escape sequences except colours.
func (t *shownTerminal) printOutput() {
	prefix, controls := t.name+" | ", dropControls
	if t.screen.colours {
		controls = keepColours
	}
	stripper := display.ANSIStripper{KeepColours: t.screen.colours}
	for chunk := range t.Follow(context.Background(), 0) {
		if t.Attached() {
			t.printCommand()
		}
		if chunk.Replaced {
			stripper = display.ANSIStripper{KeepColours: t.screen.colours}
			t.screen.print(t.name+" ! ", "output replaced\n")
		}
		if chunk.Missed > 0 {
			t.screen.print(t.name+" ! ", fmt.Sprintf("%d bytes came too fast to be shown\n", chunk.Missed))
		}
		t.screen.printTo(t.screen.out, prefix, harmless(stripper.Strip(chunk.Text), controls))
	}
}

// end describes how the command ended.
func (t *shownTerminal) end() string {
	status, err := t.Wait(context.Background())
	switch {
	case err != nil && t.Attached():
		return "not ended, as far as the agent has said"
	case err != nil:
		return err.Error()
	case t.EndedBy() == acpterm.EndedByTimeout:
		return status.String() + ", timed out"
	}
	return status.String()
}
