package main

// This file names the terminals, and finds those that show the command of a tool call.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// mostNames is the number of terminals whose names are kept, because some agents show a released terminal in a tool
// call.
const mostNames = 1000

// mostBare limits the bytes of a command to compare.
const mostBare = 256

// terminalName describes a terminal, which may have been released.
type terminalName struct {
	prefix  string // of its lines
	number  int
	command string // from bareCommand; "" if it is unknown
}

// calledCommand is the command of a tool call, according to the agent.
type calledCommand struct {
	title     string // from bareCommand
	terminals []acpterm.TerminalID
	before    int // number of terminals when the call was first reported
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
	s.names[t.ID()] = terminalName{prefix: name, number: s.terminals}
	if len(s.named) > mostNames {
		delete(s.names, s.named[0])
		s.named = slices.Delete(s.named, 0, 1)
	}
	return name
}

// setCommand sets the command of a terminal.
func (s *screen) setCommand(id acpterm.TerminalID, command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := s.names[id]; ok {
		name.command = bareCommand(command)
		s.names[id] = name
	}
}

// name returns the prefix of a terminal's lines.
func (s *screen) name(id acpterm.TerminalID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := s.names[id]; ok {
		return name.prefix
	}
	return "[unknown terminal]"
}

// count returns the number of terminals so far.
func (s *screen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.terminals
}

// shows reports whether the lines of a terminal show the command of a tool call: one of the call's terminals or, if it
// names none, one that began after it.
func (s *screen) shows(c calledCommand) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	terminals := c.terminals
	if len(terminals) == 0 {
		terminals = s.named[max(0, len(s.named)-(s.terminals-c.before)):]
	}
	return c.title != "" && slices.ContainsFunc(terminals, func(id acpterm.TerminalID) bool {
		return s.names[id].command == c.title
	})
}

// bareCommand returns the beginning of a command line or a title in a form to compare: agents quote in several ways.
func bareCommand(text string) string {
	text = strings.NewReplacer("'", "", `"`, "", "`", "", `\`, "").Replace(text[:min(len(text), mostBare)])
	return strings.Clone(strings.Join(strings.Fields(text), " "))
}
