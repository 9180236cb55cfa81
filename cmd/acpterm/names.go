package main

// This file names the terminals, and finds the lines that show the command of a tool call: those of a terminal, or of a
// denial.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
)

// mostNames is the number of terminals whose names are kept, because some agents show a released terminal in a tool
// call. As many denials are kept.
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
	before    shownCount // when the call was first reported
}

// shownCount is the number of terminals and of denials so far.
type shownCount struct{ terminals, denials int }

// addName names a new terminal.
func (s *screen) addName(t *acpterm.Terminal) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.terminals++
	name := fmt.Sprintf("[%d]", s.counted.terminals)
	if t.Attached() {
		name = fmt.Sprintf("[agent %d]", s.counted.terminals)
	}
	if _, again := s.names[t.ID()]; !again {
		s.named = append(s.named, t.ID())
	}
	s.names[t.ID()] = terminalName{prefix: name, number: s.counted.terminals}
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

// addDenial remembers that a line shows a denied command.
func (s *screen) addDenial(command string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted.denials++
	s.denied = append(s.denied[max(0, len(s.denied)+1-mostNames):], bareCommand(command))
}

func (s *screen) count() shownCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted
}

// shows reports whether lines show the command of a tool call: those of one of the call's terminals or, if it names
// none, of a terminal or a denial after it began.
func (s *screen) shows(c calledCommand) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	terminals, denied := c.terminals, []string(nil)
	if len(terminals) == 0 {
		terminals = s.named[max(0, len(s.named)-(s.counted.terminals-c.before.terminals)):]
		denied = s.denied[max(0, len(s.denied)-(s.counted.denials-c.before.denials)):]
	}
	if c.title == "" {
		return false
	}
	return slices.Contains(denied, c.title) || slices.ContainsFunc(terminals, func(id acpterm.TerminalID) bool {
		return s.names[id].command == c.title
	})
}

// bareCommand returns the beginning of a command line or a title in a form to compare: agents quote in several ways.
func bareCommand(text string) string {
	text = strings.NewReplacer("'", "", `"`, "", "`", "", `\`, "").Replace(text[:min(len(text), mostBare)])
	return strings.Clone(strings.Join(strings.Fields(text), " "))
}
