package view

// The managers of a view, and the names of their sessions.

import (
	"slices"

	"github.com/acpterm/acpterm"
)

// Source is a manager shown by a View. View.Add creates one; New creates one for the View's first manager.
//
// All methods are safe for concurrent use.
type Source struct {
	view    *View
	manager *acpterm.Manager
	number  int    // 0 for the first one
	name    string // printable text
	stop    func() // stops the observation of the manager
	removed bool   // guarded by the table's mutex
}

// Add also shows another manager's existing and later terminals, for example those of another agent. Pages show the
// name, cut after 4 KiB, beside its sessions. The options apply to all managers. Sessions and terminals with the same
// ids are distinct in each manager. After Close, nothing is shown.
func (v *View) Add(m *acpterm.Manager, name string) *Source {
	s := &Source{view: v, manager: m, name: printable(name, maxText), stop: func() {}}
	if !v.begin() {
		return s
	}
	defer v.busy.Done()
	v.mu.Lock()
	s.number = v.added
	v.added++
	v.mu.Unlock()
	s.stop = m.Observe(s.observe) // before Terminals, so that no terminal is missed
	for _, terminal := range m.Terminals() {
		v.table.addTerminal(s, terminal)
	}
	v.mu.Lock()
	v.sources = append(v.sources, s)
	v.mu.Unlock()
	return s
}

func (s *Source) observe(event acpterm.Event) { s.view.table.observe(s, event) }

// Remove removes all of the manager's commands from the view, including past ones. A second call does nothing.
func (s *Source) Remove() {
	v := s.view
	v.mu.Lock()
	v.sources = slices.DeleteFunc(v.sources, func(other *Source) bool { return other == s })
	v.mu.Unlock()
	s.stop() // no event arrives after this
	v.table.removeSource(s)
}

// TerminalPath is like View.TerminalPath, for one of this manager's terminals.
func (s *Source) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return s.view.Path() + "terminals/" + keyOf(s.number, session, id)
}

// NameSession is like View.NameSession, for one of this manager's sessions. The view keeps the name until Remove.
func (s *Source) NameSession(session acpterm.SessionID, name string) {
	s.view.table.nameSession(s, session, printable(name, maxText))
}

// NameSession sets a name, cut after 4 KiB, that pages show instead of the id of a session of the manager passed to
// New, for example the title that the agent gave it. An empty name restores the id. The view keeps the name.
func (v *View) NameSession(session acpterm.SessionID, name string) {
	v.first.NameSession(session, name)
}
