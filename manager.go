package acpterm

// The Manager: its terminals, their quotas, releases and the shutdown. create.go has Create.

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/acpterm/acpterm/internal/ids"
	"github.com/acpterm/acpterm/internal/latch"
)

// A Manager creates terminals and manages them until they are released. Callers should call Shutdown or Close when
// done. A Manager is safe for concurrent use, and does not hold locks while waiting for a command to start or exit.
type Manager struct {
	options    Options
	ids        *ids.Generator
	machine    machine
	authorizer authorizer

	shared

	creates sync.WaitGroup // of calls of Create; none begins once closing is set

	closing  latch.Latch // set when Shutdown or Close begins, under mu
	closed   latch.Latch // set when all releases are complete
	closeErr error       // once closed

	mu         sync.Mutex
	releasing  map[*Terminal]bool        // released, and not gone yet
	kept       map[*Terminal]*time.Timer // whose connection has ended, with what will release them
	sessions   map[SessionID]*session    // open ones, and those with terminals
	alive      int                       // terminals, with those in releasing
	registered int64                     // terminals so far
	reserved   int64                     // room for output in bytes
}

// NewManager returns a new Manager. It makes a copy of options, and uses the defaults if options is nil. If an option
// is invalid, NewManager returns an *Error of kind ErrInternal whose Field is the name of the option.
func NewManager(options *Options) (*Manager, error) {
	m := &Manager{
		ids:       ids.New(),
		sessions:  make(map[SessionID]*session),
		releasing: make(map[*Terminal]bool),
		kept:      make(map[*Terminal]*time.Timer),
	}
	if options != nil {
		if err := options.validate(); err != nil {
			return nil, inOperation("new manager", "", err)
		}
		m.options = *options
		m.cgroup = options.Cgroup
	}
	m.machine = m.options.machine()
	m.options.Commands = m.options.Commands.clone(m.machine.names())
	m.authorizer = authorizer{m.machine, m.options.Approve}
	m.events.open(&m.options)
	return m, nil
}

// register adds an allowed or attached terminal. If the release of others makes room in a full quota, it returns those.
func (m *Manager) register(t *Terminal, settings settings) (spare []*Terminal, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing.IsSet() {
		return nil, &Error{Kind: ErrClosing}
	}
	if settings.closed != nil && settings.closed.IsSet() {
		return nil, &Error{Kind: ErrSessionNotFound}
	}
	if m.terminalLocked(t.SessionID(), t.id) != nil { // an attached one
		return nil, invalidField("terminalId", "is already in use")
	}
	inSession, sessionLimit := 0, m.options.maxSessionTerminals()
	if s := m.sessions[t.SessionID()]; s != nil {
		inSession, sessionLimit = s.alive, cmp.Or(s.options.MaxTerminals, sessionLimit)
	}
	quotas := [...]struct { // in which releases can make room, as spareLocked takes them; test others above
		name          string
		excess, limit int64
	}{
		{"session_terminals", int64(inSession + 1 - sessionLimit), int64(sessionLimit)},
		{"terminals", int64(m.alive + 1 - m.options.maxTerminals()), int64(m.options.maxTerminals())},
		{"reserved_bytes", m.reserved + t.store.room() - m.options.maxReservedBytes(), m.options.maxReservedBytes()},
	}
	for _, quota := range quotas {
		if quota.excess > 0 {
			spare := m.spareLocked(t.SessionID(), quotas[0].excess, quotas[1].excess, quotas[2].excess)
			return spare, &Error{Kind: ErrQuota, Quota: quota.name, Limit: quota.limit}
		}
	}
	m.registered++
	t.number = m.registered
	s := m.sessionLocked(t.SessionID())
	s.terminals[t.id] = t
	s.alive++
	m.alive++
	m.reserved += t.store.room()
	return nil, nil
}

// registerInRoom is register. If a quota is full, it releases ended attached terminals to make room.
func (m *Manager) registerInRoom(t *Terminal, s settings) error {
	for {
		spare, err := m.register(t, s)
		if len(spare) == 0 {
			return err
		}
		for _, old := range spare {
			m.beginRelease(old)
		}
		for _, old := range spare {
			<-old.Released() // soon, because its command has ended
		}
	}
}

// spareLocked returns the attached terminals to release until nothing exceeds a quota: those that ended first, and no
// more than needed. It returns nil if even all of them are too few. The excess may be negative.
func (m *Manager) spareLocked(session SessionID, inSession, all, bytes int64) (spare []*Terminal) {
	ended := make(map[*Terminal]time.Time)
	for _, s := range m.sessions {
		for _, t := range s.terminals {
			if t.Attached() && t.State() == StateEnded {
				ended[t] = t.Info().Ended
			}
		}
	}
	oldest := slices.SortedFunc(maps.Keys(ended), func(a, b *Terminal) int {
		return cmp.Or(ended[a].Compare(ended[b]), cmp.Compare(a.number, b.number))
	})
	for _, helps := range []func(*Terminal) bool{
		func(t *Terminal) bool { return inSession > 0 && t.SessionID() == session },
		func(t *Terminal) bool { return all > 0 || bytes > 0 && t.store.room() > 0 },
	} {
		for _, t := range oldest {
			if _, left := ended[t]; left && helps(t) {
				delete(ended, t)
				spare = append(spare, t)
				all, bytes = all-1, bytes-t.store.room()
				if t.SessionID() == session {
					inSession--
				}
			}
		}
	}
	if max(inSession, all, bytes) > 0 {
		return nil
	}
	return spare
}

// terminalLocked returns a session's terminal, or nil.
func (m *Manager) terminalLocked(session SessionID, id TerminalID) *Terminal {
	if s := m.sessions[session]; s != nil {
		return s.terminals[id]
	}
	return nil
}

// beginRelease removes a terminal and begins to end it, unless that was done before.
func (m *Manager) beginRelease(t *Terminal) {
	m.mu.Lock()
	begin := m.beginReleaseLocked(t)
	m.mu.Unlock()
	begin()
}

// beginReleaseLocked is beginRelease. The caller calls begin without the lock.
func (m *Manager) beginReleaseLocked(t *Terminal) (begin func()) {
	if m.terminalLocked(t.SessionID(), t.id) != t {
		return func() {}
	}
	m.unkeepLocked(t)
	delete(m.sessions[t.SessionID()].terminals, t.id)
	m.releasing[t] = true
	return t.prepareRelease(m.released)
}

// Terminal returns the terminal with the given id. If the terminal does not exist, it returns ErrTerminalNotFound.
func (m *Manager) Terminal(session SessionID, id TerminalID) (*Terminal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.terminalLocked(session, id); t != nil {
		return t, nil
	}
	return nil, &Error{Kind: ErrTerminalNotFound, SessionID: session, TerminalID: id}
}

// Terminals returns all terminals that have not been released, including those still starting, from oldest to newest.
func (m *Manager) Terminals() []*Terminal {
	m.mu.Lock()
	defer m.mu.Unlock()
	return oldestFirst(slices.Collect(maps.Values(m.sessions))...)
}

// SessionTerminals is like Terminals but only returns the terminals of a single session.
func (m *Manager) SessionTerminals(session SessionID) []*Terminal {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[session]; s != nil {
		return oldestFirst(s)
	}
	return nil
}

// oldestFirst returns the terminals of sessions in the order of registration. Manager.mu is held.
func oldestFirst(sessions ...*session) (all []*Terminal) {
	for _, s := range sessions {
		all = slices.AppendSeq(all, maps.Values(s.terminals))
	}
	slices.SortFunc(all, func(a, b *Terminal) int { return cmp.Compare(a.number, b.number) })
	return all
}

// Release terminates a terminal's process tree in the same way as Terminal.Kill and removes the terminal. The id
// becomes invalid immediately, but Release does not return until the tree has exited. The *Terminal itself can still be
// read. It is not an error to release a terminal more than once, unless it was attached. If the session has never had
// such a terminal, Release returns ErrTerminalNotFound. If processes are still running after the last escalation step,
// it returns ErrSurvivors. If ctx is done before the release is complete, it returns ErrCancelled, but the release
// continues in the background.
func (m *Manager) Release(ctx context.Context, session SessionID, id TerminalID) error {
	t, err := m.Terminal(session, id)
	switch {
	case err == nil:
		m.beginRelease(t)
		return t.awaitRelease(ctx)
	case m.ids.Issued(string(session), string(id)): // released before
		return nil
	}
	return inOperation("release", session, err)
}

// released is called at the end of each release.
func (m *Manager) released(t *Terminal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.releasing, t)
	m.alive--
	m.reserved -= t.store.room()
	s := m.sessions[t.SessionID()]
	s.alive--
	m.forgetIfEmptyLocked(t.SessionID(), s)
}

// releaseAll releases terminals concurrently. It also waits for earlier releases of them.
func (m *Manager) releaseAll(ctx context.Context, terminals []*Terminal) error {
	for _, t := range terminals {
		m.beginRelease(t)
	}
	var errs []error
	for _, t := range terminals {
		errs = append(errs, t.awaitRelease(ctx))
	}
	return errors.Join(errs...)
}

// Observe adds a hook, which is called with each subsequent Event. All hooks are called on a single goroutine, in the
// order they were added. Events are passed to hooks in order, but only after the fact. To record a decision before its
// command runs, use Options.Record instead. A slow hook only delays other hooks, Close and Shutdown. However, Create
// returns ErrQuota while 10,000 events, 64 MiB of events, or events holding Options.MaxReservedBytes of output are
// pending. Hooks may retain events but must not modify them. They may call methods of the Manager, including Create,
// but not Close or Shutdown, since those wait for the hooks to return. If a hook panics, the panic is logged.
//
// To remove the hook, call stop. When stop returns, the hook will not be called again. stop must not be called by a
// hook, but may be called more than once.
func (m *Manager) Observe(hook func(Event)) (stop func()) { return m.events.observe(hook) }

// logReaped logs that the host reaps the Manager's children.
func logReaped() {
	slog.Error("acpterm: another part of this program reaps the children of acpterm, by wait4(-1) or by ignoring " +
		"SIGCHLD; how a command ended may be lost, and less is found of what it started")
}

// discard releases a terminal with SIGKILL.
func (m *Manager) discard(t *Terminal) {
	m.beginRelease(t)
	e, _ := t.beginEnd(EndedByRelease)
	e.forced.Set()
	<-t.release.done.Done()
}

// Shutdown gracefully shuts down the Manager. New terminals are refused, and existing ones are released concurrently.
// When Shutdown returns, no processes, goroutines, timers or files of the Manager remain, except for survivors. Any
// errors from releasing the terminals are joined and returned, but not those of earlier releases, whose survivors are
// abandoned. Subsequent calls also wait and return the same error. If
// ctx is done before the shutdown is complete, Shutdown returns ErrCancelled and the terminals continue to be released
// in the background, but Options.Record is cancelled. In that case, call Close to kill the remaining processes.
func (m *Manager) Shutdown(ctx context.Context) error {
	m.beginClose()
	select {
	case <-m.closed.Done():
	case <-ctx.Done():
		m.events.cancelRecording()
		if !m.closed.IsSet() {
			return &Error{Op: "shutdown", Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
	}
	return m.closeErr
}

// Close immediately shuts down the Manager, killing all processes with SIGKILL, including those already being released.
// It waits for Options.Record and the hooks added by Observe to return, and returns the same error as Shutdown. For a
// graceful shutdown, use Shutdown.
func (m *Manager) Close() error {
	m.beginClose()
	m.hurry()
	<-m.closed.Done()
	return m.closeErr
}

// beginClose starts leave, once.
func (m *Manager) beginClose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closing.IsSet() {
		m.closing.Set()
		m.busy.Add(1) // until all releases are complete, so that hurry never adds the first
		go m.leave()
	}
}

// leave releases all terminals and waits for everything.
func (m *Manager) leave() {
	defer m.closed.Set()
	m.closeErr = m.releaseAll(context.Background(), m.Terminals())
	m.creates.Wait()
	m.busy.Done()
	m.busy.Wait()
	m.events.Wait()
	m.processes.Close()
}

// hurry makes all releases skip to SIGKILL.
func (m *Manager) hurry() {
	m.mu.Lock()
	all := oldestFirst(slices.Collect(maps.Values(m.sessions))...) // their release has not begun yet
	all = slices.AppendSeq(all, maps.Keys(m.releasing))
	m.mu.Unlock()
	for _, t := range all {
		e, _ := t.beginEnd(EndedByRelease)
		e.forced.Set()
	}
}
