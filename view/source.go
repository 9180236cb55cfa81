package view

// The managers of a view, and the names of their sessions.

import (
	"slices"

	"github.com/acpterm/acpterm"
)

// Source is a manager that a View shows. View.Add makes one; a View has one for the manager that it was made with.
//
// All methods may be called concurrently.
type Source struct {
	view    *View
	manager *acpterm.Manager
	number  int    // 0 of the first one
	name    string // printable
	stop    func() // stops the observation of the manager
	removed bool   // guarded by the table's mutex
}

// Add shows another manager's terminals as well, for example another agent's: those of now, and later ones. Pages show the
// name, cut after 4 KiB, beside its sessions. Options hold for all managers; sessions and terminals of the same ids are
// others in each. After Close nothing is shown.
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

// Remove has the view show none of the manager's commands any more, past ones included. A second call does nothing.
func (s *Source) Remove() {
	v := s.view
	v.mu.Lock()
	v.sources = slices.DeleteFunc(v.sources, func(other *Source) bool { return other == s })
	v.mu.Unlock()
	s.stop() // no event comes after it
	v.table.removeSource(s)
}

// TerminalPath is View.TerminalPath of one of the manager's terminals.
func (s *Source) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return s.view.Path() + "terminals/" + keyOf(s.number, session, id)
}

// NameSession is View.NameSession of one of the manager's sessions. The view keeps the name until Remove.
func (s *Source) NameSession(session acpterm.SessionID, name string) {
	s.view.table.nameSession(s, session, printable(name, maxText))
}

// NameSession has pages show a name, cut after 4 KiB, in place of the id of a session of the manager that the view was made
// with: for example the title that the agent gave it. An empty name is the id again. The view keeps the name.
func (v *View) NameSession(session acpterm.SessionID, name string) {
	v.first.NameSession(session, name)
}
