package acpterm

// Attached terminals. Their owner runs the command, feeds the output and reports how the command ended. Package
// agentterm has the terminals of commands that an agent runs itself. No signal is sent for them.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
)

// An Attached lets the owner of a terminal supply the output and exit status of the command. Once the terminal has been
// released, its methods have no effect. An Attached is safe for concurrent use by multiple goroutines.
type Attached struct {
	terminal *Terminal
	owner    *attached
}

// TerminalSize is the size of a terminal in characters.
type TerminalSize struct{ Columns, Rows int }

// Attach adds a terminal for a command that the terminal's owner runs instead of the Manager. It calls
// HandlerOptions.Created with the new terminal and returns an Attached for supplying the command's output.
//
// The ID and SessionID fields of about are required. The owner chooses the ID, and SessionID is the agent's id for the
// session. Command, Size and Meta are optional, and all other fields are ignored. For cancel, see Attached.Describe. If
// released is non-nil, it is called once, when the terminal starts to be released. It must not block.
//
// The terminal counts towards the Manager's quotas. If a quota is exceeded, Create and Attach release the attached
// terminals that ended first, if that makes enough room. Policies do not apply to the terminal, and terminal/* requests
// cannot access it. Attach returns ErrInvalidParams if an id is empty, or if the terminal's id is in use in the session
// or was assigned by the Manager in any session. It returns ErrSessionNotFound if Options.RequireSessions is set and
// the session is not open, and can return ErrQuota or ErrClosing as well.
func (h *Handler) Attach(
	about TerminalInfo, cancel func(context.Context) error, released func(),
) (*Attached, error) {
	session := h.toInternalID(about.SessionID)
	fail := func(err error) (*Attached, error) { return nil, h.toWireError(inOperation("attach", session, err)) }
	if h.manager == nil {
		return fail(&Error{Kind: ErrInternal, Reason: "the Handler has no Manager"})
	}
	switch {
	case session == "":
		return fail(invalidField("sessionId", "must not be empty"))
	case about.ID == "":
		return fail(invalidField("terminalId", "must not be empty"))
	}
	owner := &attached{released: released, orphaned: h.closing.IsSet}
	t, err := h.tracked(func(adopt func(*Terminal) error) (*Terminal, error) {
		return h.manager.attach(owner, session, about, cancel, adopt)
	})
	if err != nil {
		return fail(err)
	}
	return &Attached{t, owner}, nil
}

func (m *Manager) attach(
	owner *attached, session SessionID, about TerminalInfo, cancel func(context.Context) error,
	adopt func(*Terminal) error,
) (*Terminal, error) {
	if !m.beginCreate() {
		return nil, &Error{Kind: ErrClosing}
	}
	running := sync.OnceFunc(m.creates.Done)
	defer running()
	s, err := m.settings(session)
	if err == nil {
		err = m.events.full(m.options.maxReservedBytes())
	}
	if err == nil && m.ids.Made(string(about.ID)) {
		err = invalidField("terminalId", "belongs to a terminal of the client")
	}
	if err != nil {
		return nil, err
	}
	kept, now := newByteStore(m.options.outputLimits(&s.commands, nil, 0)), time.Now()
	owner.output = output.NewWriter(kept.Buffer)
	t := &Terminal{
		id: about.ID, about: Subject{TerminalID: about.ID, SessionID: session, Attached: true},
		request: CreateTerminalRequest{SessionID: session}, created: now,
		shared: &m.shared, store: kept, backend: owner, owner: owner, state: StateRunning, startedAt: now,
	}
	t.started.Set()
	(&Attached{t, owner}).Describe(about, cancel)
	if err := m.registerInRoom(t, s); err != nil {
		return nil, err
	}
	t.begin(owner, now)
	running() // adopt may call Close
	if err := adopt(t); err != nil {
		m.discard(t)
		return nil, err
	}
	return t, nil
}

// Describe sets the terminal's Command, Size and Meta to the values in about, and replaces its cancel function.
// Terminal.Kill calls cancel to ask the owner to stop the command. If cancel is nil, Kill returns ErrNotCancellable.
func (a *Attached) Describe(about TerminalInfo, cancel func(context.Context) error) {
	a.terminal.mu.Lock()
	defer a.terminal.mu.Unlock()
	a.terminal.command = about.Command
	a.owner.size, a.owner.meta, a.owner.cancel = about.Size, about.Meta, cancel
}

// Write appends p to the output, or returns os.ErrClosed if the terminal has already been released.
func (a *Attached) Write(p []byte) (int, error) { return a.owner.output.Write(p) }

// Replace sets the output to p. If p begins with the existing output, the rest of p is simply appended. Otherwise,
// followers receive a Chunk with Replaced set.
func (a *Attached) Replace(p []byte) {
	rest, extends := a.Extends(p)
	if !extends {
		a.owner.output.Restart()
	}
	a.Write(rest)
}

// Extends reports whether p begins with the existing output. If so, rest is the remainder of p; otherwise, rest is p.
func (a *Attached) Extends(p []byte) (rest []byte, ok bool) {
	return a.terminal.store.buffer().Extends(p)
}

// Exit reports that the command exited with the given code or was terminated by a signal such as "SIGTERM". Either may
// be nil if unknown, and a signal other than a name (at most 32 letters, digits, "+", "-" and "_") counts as nil. Only
// the first call has any effect, unless both arguments were nil. If the code does not fit in a uint32, such as a
// negative code on Windows, the exit status has its lower 32 bits, and Meta contains the full code.
func (a *Attached) Exit(code *int64, signal *string) {
	t, b := a.terminal, a.owner
	if signal != nil && !proc.IsSignalName(*signal) {
		signal = nil
	}
	t.mu.Lock()
	if b.code == nil && b.signal == nil {
		b.code, b.signal = code, signal
		if t.state == StateEnded {
			t.end.by, t.end.status = b.ended(t.end.by, proc.Exit{})
		}
	}
	t.mu.Unlock()
	b.SetExit(proc.Exit{}, nil) // only the first call counts
}

// Attached reports whether the terminal was created by Handler.Attach. If so, the command is run by the terminal's
// owner, such as the agent. Kill can only ask the owner to stop the command, and Release leaves the command running.
func (t *Terminal) Attached() bool {
	_, is := t.owner.(*attached)
	return is
}

type attached struct {
	noProcess
	proc.ExitStatus
	output   *output.Writer
	released func()
	orphaned func() bool // reports whether the owner is unreachable

	// Under Terminal.mu.
	size        *TerminalSize
	meta        Meta
	cancel      func(context.Context) error
	code        *int64 // of the exit, if known
	signal      *string
	cancelledBy EndedBy // if cancel was called
}

// End gives up the terminal: the processes are the owner's.
func (b *attached) End(context.Context, syscall.Signal) (left []int, doubt error) {
	b.Close()
	return nil, nil
}

func (b *attached) Close() {
	unseen := errUnseen
	if b.orphaned() {
		unseen = &Error{Kind: ErrAgentGone, Reason: "the agent is gone, and has not said how its command ended"}
	}
	b.SetExit(proc.Exit{}, unseen)
}

// Gone reports whether the exit was reported. No more is known about the owner's processes.
func (b *attached) Gone() (gone bool) {
	if b.HasExited() {
		b.OnExit(func(_ proc.Exit, err error) { gone = err == nil })
	}
	return gone
}

func (b *attached) Rest() func(context.Context) {
	if b.Gone() {
		return nil
	}
	return func(ctx context.Context) { <-ctx.Done() }
}

func (b *attached) Stop() { b.output.Close() }

func (b *attached) releasing() {
	if b.released != nil {
		callHook("released", b.released)
	}
}

func (b *attached) ended(by EndedBy, _ proc.Exit) (EndedBy, TerminalExitStatus) {
	if b.cancelledBy != "" && by == EndedByItself {
		by = b.cancelledBy
	}
	s := TerminalExitStatus{Signal: copyOf(b.signal), Meta: by.meta()}
	if b.code != nil {
		s.ExitCode = new(uint32(*b.code))
		if *b.code < 0 || *b.code > math.MaxUint32 {
			s.Meta["acpterm"] = json.RawMessage(fmt.Sprintf(`{"endedBy":%q,"exitCode":%d}`, by, *b.code))
		}
	}
	return by, s
}

func (b *attached) describe(_ *Terminal, info *TerminalInfo) {
	info.Attached, info.Meta = true, b.meta.clone()
	info.Cancellable = b.cancel != nil && info.State.alive() && !b.orphaned()
	info.Size = copyOf(b.size)
}

// outputEnds closes at the end of the command: the owner may write more after it, but need not.
func (b *attached) outputEnds(t *Terminal) <-chan struct{} { return t.ended.Done() }

// kill asks the owner to end the command, and returns when the owner has reported the end.
func (b *attached) kill(ctx context.Context, t *Terminal, by EndedBy) error {
	refuse := func(err error) error {
		return &Error{Op: "kill", Kind: ErrNotCancellable, SessionID: t.SessionID(), TerminalID: t.id, Err: err}
	}
	t.mu.Lock()
	ended, cancel := t.state == StateEnded, b.cancel
	if !ended && cancel != nil {
		b.cancelledBy = cmp.Or(b.cancelledBy, by)
	}
	t.mu.Unlock()
	switch {
	case ended:
		return nil
	case cancel == nil:
		return refuse(nil)
	}
	var err error
	panicked := callHook("Cancel", func() { err = cancel(ctx) })
	if err = cmp.Or(panicked, err); err != nil && t.State() != StateEnded {
		t.mu.Lock()
		b.cancelledBy = ""
		t.mu.Unlock()
		if ctx.Err() == nil {
			return refuse(err)
		}
	}
	return t.await(ctx, &t.ended, "kill")
}
