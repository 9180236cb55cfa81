package acpterm

// Sessions: opening and closing them, and the directories of their commands.

import (
	"context"
	"fmt"
	"slices"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/lookup"
)

// session is an open session, or one with terminals. If it is not open, it is forgotten with its last terminal.
type session struct {
	options   SessionOptions
	roots     []string     // options.Roots, resolved
	closed    *latch.Latch // of an open session, set by CloseSession; nil otherwise
	terminals map[TerminalID]*Terminal
	alive     int // terminals, also those being released
}

// OpenSession opens a session. The given options, which may be nil, apply to all terminals of the session until
// CloseSession is called. A session does not have to be opened to create terminals unless Options.RequireSessions is
// set. Since an agent may create a terminal right after responding to session/new, OpenSession should be called at the
// point where the response is read, for example in jsonrpc2's OnRecv.
//
// OpenSession returns ErrInvalidParams if the session is already open or the id is empty. If an option is invalid, for
// example because a root does not exist, OpenSession returns ErrInternal, and Error.Field is the name of the option. If
// there is a Runner, OpenSession calls Runner.RealDir and returns any error from it.
func (m *Manager) OpenSession(id SessionID, options *SessionOptions) error {
	fail := func(err error) error { return inOperation("open session", id, err) }
	var own SessionOptions
	if options != nil {
		own = *options
	}
	if err := own.validate(m.machine); err != nil {
		return fail(err)
	}
	own.Commands, own.Roots = own.Commands.clone(m.machine.names()), slices.Clone(own.Roots)
	roots := slices.Clone(own.Roots)
	for i, root := range roots {
		var err error
		if roots[i], err = m.root(fmt.Sprintf("SessionOptions.Roots[%d]", i), root); err != nil {
			return fail(err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch s := m.sessions[id]; {
	case id == "":
		return fail(invalidField("sessionId", "must not be empty"))
	case s != nil && s.closed != nil:
		return fail(invalidField("sessionId", "is already open"))
	case m.closing.IsSet():
		return fail(&Error{Kind: ErrClosing})
	}
	s := m.sessionLocked(id)
	s.options, s.roots, s.closed = own, roots, new(latch.Latch)
	return nil
}

// AddRoot adds a directory to the Roots of an open session. This only affects subsequent calls to Create. The directory
// must be an absolute path. Its symbolic links are resolved immediately. AddRoot returns ErrSessionNotFound if the
// session is not open. It returns ErrInternal if dir cannot be resolved, or if Roots is nil, since all directories are
// already allowed in that case. If there is a Runner, AddRoot calls Runner.RealDir and returns any error from it.
func (m *Manager) AddRoot(id SessionID, dir string) error {
	fail := func(err error) error { return inOperation("add root", id, err) }
	root, err := m.root("dir", dir)
	if err != nil {
		return fail(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	switch {
	case s == nil || s.closed == nil:
		return fail(&Error{Kind: ErrSessionNotFound, SessionID: id})
	case s.roots == nil:
		return fail(optionError("SessionOptions.Roots", "are nil, which allows all directories"))
	}
	s.roots = append(slices.Clip(s.roots), root) // those that creates have are not changed
	return nil
}

// root resolves the symbolic links of a directory, the value of an option or a parameter.
func (m *Manager) root(field, dir string) (string, error) {
	resolved, err := m.machine.realDir(context.Background(), dir)
	if _, failed := err.(*Error); err != nil && !failed {
		err = optionError(field, lookup.Reason(err))
	}
	return resolved, err
}

// CloseSession closes a session and discards its options. It closes Proposal.SessionDone, causes pending calls to
// Create to fail with ErrSessionNotFound, and calls ReleaseSession. If the session was never opened, its terminals are
// still released, but pending calls to Create are not interrupted. To prevent such calls, set Options.RequireSessions.
func (m *Manager) CloseSession(ctx context.Context, id SessionID) error {
	m.mu.Lock()
	if s := m.sessions[id]; s != nil && s.closed != nil {
		s.closed.Set()
		s.closed, s.options, s.roots = nil, SessionOptions{}, nil
		m.forgetIfEmptyLocked(id, s)
	}
	m.mu.Unlock()
	return m.ReleaseSession(ctx, id)
}

// ReleaseSession concurrently releases all terminals of a session and waits until they are gone or ctx is done. The
// errors returned by Release are joined into one.
func (m *Manager) ReleaseSession(ctx context.Context, session SessionID) error {
	return m.releaseAll(ctx, m.SessionTerminals(session))
}

// sessionLocked returns a session. It adds the session if it is new.
func (m *Manager) sessionLocked(id SessionID) *session {
	s := m.sessions[id]
	if s == nil {
		s = &session{terminals: make(map[TerminalID]*Terminal)}
		m.sessions[id] = s
	}
	return s
}

// forgetIfEmptyLocked removes a closed session without terminals.
func (m *Manager) forgetIfEmptyLocked(id SessionID, s *session) {
	if s.alive == 0 && s.closed == nil {
		delete(m.sessions, id)
	}
}
