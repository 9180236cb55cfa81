package acpterm

// Attached terminals. Their owner runs the command, feeds the output and says how the command ended; package agentterm
// has the terminals of commands that an agent runs itself. No signal is sent for them.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
)

// Attached feeds a terminal whose command its owner runs. All methods may be called concurrently. After the release
// they change nothing.
type Attached struct{ terminal *Terminal }

// TerminalSize is the size of a terminal, in characters.
type TerminalSize struct{ Columns, Rows int }

// Attach adds a terminal whose owner runs the command, calls HandlerOptions.Created with it, and returns what feeds it.
//
// The ID of about, which the owner chooses, and the SessionID, as the agent names it, are required; Command, Size and
// Meta are optional, and the other fields are ignored. See Describe for cancel. If released is not nil, Attach calls it
// once, when a release of the terminal begins; released must not block.
//
// The terminal counts in the Manager's quotas. While one is full, each create and each Attach releases the attached
// terminal that ended first. No policy is asked, and the agent's terminal/* requests do not reach the terminal.
//
// It fails with ErrInvalidParams for an id that the session already has or that the Manager has given to a command,
// and with ErrQuota, ErrClosing, or ErrSessionNotFound if Options.RequireSessions is set and the session is not open.
func (h *Handler) Attach(
	about TerminalInfo, cancel func(context.Context) error, released func(),
) (*Attached, error) {
	session := h.toInternalID(about.SessionID)
	fail := func(err error) (*Attached, error) { return nil, h.toWireError(inOperation("attach", session, err)) }
	if h.manager == nil {
		return fail(&Error{Kind: ErrInternal, Reason: "the Handler has no Manager"})
	}
	if session == "" {
		return fail(invalidField("sessionId", "must not be empty"))
	}
	about.SessionID = session
	owner := &attached{about: about, ask: cancel, released: released, orphaned: h.closing.IsSet}
	t, err := h.attachTracked(owner)
	if err != nil {
		return fail(err)
	}
	if h.options.Created != nil {
		if err := callHook("Created", func() { h.options.Created(t) }); err != nil {
			h.manager.discard(t)
			return fail(err)
		}
	}
	return &Attached{t}, nil
}

// attachTracked attaches a terminal that Close releases. Close waits for it to return.
func (h *Handler) attachTracked(owner *attached) (*Terminal, error) {
	if !h.beginCreate() {
		return nil, &Error{Kind: ErrClosing}
	}
	defer h.creates.Done()
	t, err := h.manager.attach(owner)
	if err == nil {
		h.track(t)
	}
	return t, err
}

// attach makes an attached terminal.
func (m *Manager) attach(owner *attached) (*Terminal, error) {
	session, id := owner.about.SessionID, owner.about.ID
	if !m.beginCreate() {
		return nil, &Error{Kind: ErrClosing}
	}
	defer m.creates.Done()
	s, err := m.settings(session)
	if err == nil {
		err = m.events.full(m.options.maxOutputBytes())
	}
	if err == nil && m.ids.Issued(string(session), string(id)) {
		err = invalidField("terminalId", "is a terminal of the client's")
	}
	if err != nil {
		return nil, err
	}
	kept, now := newByteStore(m.options.outputLimits(&s.commands, nil, 0)), time.Now()
	t := &Terminal{
		id: id, session: session, request: CreateTerminalRequest{SessionID: session},
		created: now, store: kept, shared: &m.shared, state: StateRunning, startedAt: now,
	}
	owner.output = output.NewWriter(kept.Buffer)
	t.attached = owner
	t.tree, t.source = t.attached, t.attached
	t.started.Set()
	if err := m.registerInRoom(t, s); err != nil {
		return nil, err
	}
	if t.events.Observed() {
		t.events.emit(&StartEvent{Subject: t.subject(), Time: now, Terminal: t})
	}
	t.busy.Add(1)
	t.tree.OnExit(t.exited) // after the StartEvent: a release waits for it
	return t, nil
}

// registerInRoom is register. While a quota is full, the attached terminal that ended first is released.
func (m *Manager) registerInRoom(t *Terminal, s settings) error {
	for {
		err := m.register(t, s)
		full, ok := errors.AsType[*Error](err)
		if !ok || full.Kind != ErrQuota {
			return err
		}
		oldest := m.oldestEnded(t.session, full.Quota != QuotaSessionTerminals)
		if oldest == nil {
			return err
		}
		m.beginRelease(oldest.session, oldest.id, EndedByRelease)
		<-oldest.Released() // which waits for nothing but a goroutine, since its command has ended
	}
}

// oldestEnded is the attached terminal that ended first, of one session or of any; nil if none has ended.
func (m *Manager) oldestEnded(session SessionID, any bool) (oldest *Terminal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first time.Time
	for id, s := range m.sessions {
		if !any && id != session {
			continue
		}
		for _, t := range s.terminals {
			ended := t.endedAttached()
			if ended.IsZero() {
				continue
			}
			if oldest == nil || cmp.Or(ended.Compare(first), cmp.Compare(t.number, oldest.number)) < 0 {
				oldest, first = t, ended
			}
		}
	}
	return oldest
}

// endedAttached is when an attached terminal ended; zero for any other.
func (t *Terminal) endedAttached() time.Time {
	if t.attached == nil {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end.at
}

// Describe replaces the Command, Size and Meta of the terminal by those of about, and what asks the owner to end the
// command. Terminal.Kill calls cancel; if it is nil, Kill fails with ErrNotCancellable.
func (a *Attached) Describe(about TerminalInfo, cancel func(context.Context) error) {
	a.terminal.mu.Lock()
	defer a.terminal.mu.Unlock()
	b := a.terminal.attached
	b.about.Command, b.about.Size, b.about.Meta, b.ask = about.Command, about.Size, about.Meta, cancel
}

// Write appends output. It fails with os.ErrClosed after the release.
func (a *Attached) Write(p []byte) (int, error) { return a.terminal.attached.output.Write(p) }

// Replace replaces all output. If p begins with the output so far, only the rest is appended; otherwise followers get
// a Chunk with Replaced set.
func (a *Attached) Replace(p []byte) {
	rest, extends := a.Extends(p)
	if !extends {
		a.terminal.attached.output.Restart()
	}
	a.Write(rest)
}

// Extends reports whether p begins with the output so far, and returns the rest of p.
func (a *Attached) Extends(p []byte) (rest []byte, ok bool) {
	return a.terminal.store.buffer().Extends(p)
}

// Exit says that the command has ended. A nil code or signal means that it is not known. The first call ends the
// terminal; a later one counts if neither was known before. The exit status has the lower 32 bits of an exit code, and
// its Meta the whole code if it is beyond uint32, such as a negative one on Windows. A signal has its POSIX name.
func (a *Attached) Exit(code *int64, signal *string) {
	t, b := a.terminal, a.terminal.attached
	t.mu.Lock()
	if b.code == nil && b.signal == nil {
		if signal != nil {
			signal = new(cutText(*signal))
		}
		b.code, b.signal = code, signal
		if t.state == StateEnded {
			t.end.status = b.exitStatus(t.end.by)
		}
	}
	t.mu.Unlock()
	b.SetExit(proc.Exit{}, nil) // only the first call counts
}

var _ io.Writer = (*Attached)(nil)

// attached is the tree of an attached terminal and the source of its output. No process of it runs here.
type attached struct {
	proc.ExitStatus
	output   *output.Writer
	released func()
	orphaned func() bool // reports whether the owner cannot be reached any more

	// Under Terminal.mu.
	about     TerminalInfo // the ID, SessionID, Command, Size and Meta
	ask       func(context.Context) error
	code      *int64 // of the exit status, if the owner knows them
	signal    *string
	cancelled bool // the owner was asked to end the command
}

// End gives it up: the processes are the owner's.
func (b *attached) End(context.Context, syscall.Signal) (left []int) {
	b.Close()
	return nil
}

func (b *attached) Gone() bool           { return false }
func (b *attached) Close()               { b.SetExit(proc.Exit{}, errUnseen) }
func (b *attached) PID() int             { return 0 }
func (b *attached) Unreaped() bool       { return false }
func (b *attached) Limits() []proc.Limit { return nil }

// Drain has nothing to do: the owner has written the output.
func (b *attached) Drain(done func()) { done() }
func (b *attached) Stop()             { b.output.Close() }

// release tells the owner. A nil attached is the tree of no attached terminal.
func (b *attached) release() {
	if b != nil && b.released != nil {
		callHook("released", b.released)
	}
}

// exitStatus is the exit status that the owner reported.
func (b *attached) exitStatus(by EndedBy) (s TerminalExitStatus) {
	s.Meta = by.meta()
	if b.signal != nil {
		s.Signal = new(*b.signal)
	}
	if b.code != nil {
		s.ExitCode = new(uint32(*b.code))
		if *b.code < 0 || *b.code > math.MaxUint32 {
			s.Meta["acpterm"] = json.RawMessage(fmt.Sprintf(`{"endedBy":%q,"exitCode":%d}`, by, *b.code))
		}
	}
	return s
}

// Attached reports whether the terminal was made by Handler.Attach: its owner runs the command, for example the agent.
// Such a terminal has no process here. Kill asks the owner to end the command, and a release only forgets the terminal.
func (t *Terminal) Attached() bool { return t.attached != nil }

// cancel is Kill of an attached terminal. It returns when the owner has said that the command has ended.
func (b *attached) cancel(ctx context.Context, t *Terminal) error {
	refuse := func(err error) error {
		return &Error{Op: "kill", Kind: ErrNotCancellable, SessionID: t.session, TerminalID: t.id, Err: err}
	}
	t.mu.Lock()
	ended, ask := t.state == StateEnded, b.ask
	b.cancelled = b.cancelled || !ended && ask != nil
	t.mu.Unlock()
	switch {
	case ended:
		return nil
	case ask == nil:
		return refuse(nil)
	}
	var err error
	panicked := callHook("Cancel", func() { err = ask(ctx) })
	if err = cmp.Or(panicked, err); err != nil && t.State() != StateEnded {
		t.mu.Lock()
		b.cancelled = false
		t.mu.Unlock()
		if ctx.Err() != nil {
			return t.cancelled("kill", ctx)
		}
		return refuse(err)
	}
	select {
	case <-t.ended.Done():
		return nil
	case <-ctx.Done():
		return t.cancelled("kill", ctx)
	}
}
