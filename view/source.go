package view

// The managers of a view, and the names of their sessions.

import (
	"slices"

	"github.com/acpterm/acpterm"
)

// A Source represents a manager shown by a View. It is created by View.Add or, for the first manager of a View, by New.
//
// It is safe for concurrent use by multiple goroutines.
type Source struct {
	view    *View
	manager *acpterm.Manager
	number  int    // 0 for the first one
	name    string // printable text
	stop    func() // stops the observation of the manager
	removed bool   // guarded by the table's mutex
}

// Add adds another manager, such as the manager of a different agent, and shows its existing and future terminals. The
// name is displayed next to the manager's sessions and is truncated to 4 KiB. The View's options apply to all managers.
// Sessions and terminals of different managers are kept separate, even if they have the same ids. If the View is
// closed, Add has no effect.
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

// Remove removes the manager and all of its commands from the view. Subsequent calls have no effect.
func (s *Source) Remove() {
	v := s.view
	v.mu.Lock()
	v.sources = slices.DeleteFunc(v.sources, func(other *Source) bool { return other == s })
	v.mu.Unlock()
	s.stop() // no event arrives after this
	v.table.removeSource(s)
}

// TerminalPath is like View.TerminalPath, but for a terminal of this manager.
func (s *Source) TerminalPath(session acpterm.SessionID, id acpterm.TerminalID) string {
	return s.view.Path() + "terminals/" + keyOf(s.number, session, id)
}

// NameSession is like View.NameSession, but for a session of this manager. Remove discards the names.
func (s *Source) NameSession(session acpterm.SessionID, name string) {
	name = printable(name, maxText)
	if a := s.view.options.Archive; a != nil {
		a.NameSession(s.name, session, name)
	}
	s.view.table.nameSession(s, session, name)
}

// NameSession sets a name to be displayed instead of the id of a session, typically a title given by the agent. The
// session must belong to the manager passed to New. Names longer than 4 KiB are truncated. If name is empty, the id of
// the session is displayed again. The name is kept as long as the view displays commands of the session. For sessions
// without commands, the view keeps the 1,000 most recent names of all managers.
func (v *View) NameSession(session acpterm.SessionID, name string) {
	v.first.NameSession(session, name)
}
