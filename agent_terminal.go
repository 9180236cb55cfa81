package acpterm

// Terminals that the agent owns: it runs their commands itself, and what it sends of them in session/update
// (session_update.go) takes the place of a process. No signal is sent for them.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/internal/updates"
)

// What an agent may have kept of each of its terminals, in bytes.
const (
	maxAgentID   = 1 << 10
	maxAgentText = 64 << 10 // of the command, of the directory, and of the metadata
)

// agentTerminal is what a terminal has that the agent owns.
type agentTerminal struct {
	tree   *agentTree
	output *output.Writer
	cancel func(context.Context) error // asks the agent to end the command
	canAsk func() bool                 // reports whether cancel can reach the agent now
	forget func()                      // is called when a release begins, with the manager's lock held

	applying sync.Mutex // over one update, so that they change the output one after the other

	// Under Terminal.mu.
	command     Command
	size        *TerminalSize // nil: not known
	meta        Meta
	exit        updates.Exit // once it has ended
	cancellable bool         // the agent serves the request of cancel
	cancelled   bool         // it was sent
	v1          bool         // updates are by the convention of v1
	deltas      bool         // there was a terminal_output_delta
	announced   bool         // there was a terminal_info
}

// TerminalSize is the size of a terminal, in characters.
type TerminalSize struct{ Columns, Rows int }

// agentTree is the tree of a terminal that the agent owns. Nothing of it runs here.
type agentTree struct{ proc.ExitStatus }

// End gives it up: the agent's processes are the agent's.
func (t *agentTree) End(context.Context, syscall.Signal) (left []int) {
	t.Close()
	return nil
}

func (t *agentTree) Gone() bool           { return false }
func (t *agentTree) Close()               { t.SetExit(proc.Exit{}, errUnseen) }
func (t *agentTree) PID() int             { return 0 }
func (t *agentTree) Unreaped() bool       { return false }
func (t *agentTree) Limits() []proc.Limit { return nil }

// Drain has nothing to do: updates have written the output.
func (a *agentTerminal) Drain(done func()) { done() }
func (a *agentTerminal) Stop()             { a.output.Close() }

// OfAgent reports whether the agent owns the terminal: it runs the command, and sends what it prints in session/update
// (see HandlerOptions.AgentTerminals). Such a terminal has no process here. Kill asks the agent to cancel the command,
// and a release only forgets the terminal.
func (t *Terminal) OfAgent() bool { return t.agent != nil }

// adopt makes a terminal that the agent owns, of an update that is its first.
func (m *Manager) adopt(session SessionID, agent *agentTerminal, u updates.Update) (*Terminal, error) {
	if !m.beginCreate() {
		return nil, &Error{Kind: ErrClosing}
	}
	defer m.creates.Done()
	s, err := m.settings(session)
	if err == nil {
		err = m.events.full(m.options.maxOutputBytes())
	}
	if err != nil {
		return nil, err
	}
	limits, now := m.options.outputLimits(&s.commands, nil, 0), time.Now()
	t := &Terminal{
		id: TerminalID(u.Terminal), session: session, request: CreateTerminalRequest{SessionID: session},
		created: now, limit: limits.last, head: limits.head, ring: output.New(limits.kept, limits.head),
		processes: &m.processes, lost: func() {}, events: &m.events, busy: &m.busy,
		state: StateRunning, startedAt: now, agent: agent,
	}
	agent.tree, agent.output = new(agentTree), output.NewWriter(t.ring)
	t.tree, t.source = agent.tree, t.agent
	t.started.Set()
	if err := t.patch(u); err != nil {
		return nil, err
	}
	if err := m.registerInRoom(t, s); err != nil {
		return nil, err
	}
	if t.events.Observed() {
		t.events.emit(&StartEvent{Subject: t.subject(), Time: now, Terminal: t})
	}
	t.busy.Add(1)
	t.tree.OnExit(t.exited) // after the StartEvent: a release waits for it
	t.agent.applying.Lock()
	defer t.agent.applying.Unlock()
	t.applyOutput(u)
	return t, nil
}

// registerInRoom is register. While a quota is full, the agent's terminal that ended first is released.
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

// oldestEnded is the agent's terminal that ended first, of one session or of any; nil if there is none.
func (m *Manager) oldestEnded(session SessionID, any bool) (oldest *Terminal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first time.Time
	for id, s := range m.sessions {
		if !any && id != session {
			continue
		}
		for _, t := range s.terminals {
			ended := t.endedOfAgent()
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

// endedOfAgent is when the terminal ended if the agent owns it, and else zero.
func (t *Terminal) endedOfAgent() time.Time {
	if t.agent == nil {
		return time.Time{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.endedAt
}

// apply changes a terminal as an update says, or not at all.
func (t *Terminal) apply(u updates.Update) error {
	t.agent.applying.Lock()
	defer t.agent.applying.Unlock()
	if err := t.patch(u); err != nil {
		return err
	}
	t.applyOutput(u)
	return nil
}

// applyOutput is the part of an update that is about the output and the end. It is called with applying held.
func (t *Terminal) applyOutput(u updates.Update) {
	t.mu.Lock()
	deltas := t.agent.deltas
	t.mu.Unlock()
	t.agent.write(t.ring, u, deltas)
	if u.Exit.Value != nil { // a null clears nothing: an end is final
		t.agentExited(*u.Exit.Value)
	}
}

// concerns reports whether an update by the convention of v1 counts for the terminal. None does for one of v2, whose id
// may be that of a tool call all the same.
func (t *Terminal) concerns(u updates.Update) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	endKnown := u.Known && u.Exit.Present && t.state == StateEnded // the exit said it better
	return t.agent.v1 && !endKnown && !(u.Final && t.agent.announced)
}

// patch changes what an update says of the terminal, but for its output and its end.
func (t *Terminal) patch(u updates.Update) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.agent
	meta, err := patchMeta(a.meta, u.Meta)
	if err != nil {
		return err
	}
	a.meta = meta
	a.v1 = a.v1 || u.V1
	a.deltas = a.deltas || u.Delta
	a.announced = a.announced || u.Info
	set(&a.command.ShellLine, u.Command)
	set(&a.command.Dir, u.Dir)
	set(&a.cancellable, u.Cancel)
	if u.Size.Present {
		a.size = nil
	}
	if size := u.Size.Value; size != nil {
		a.size = &TerminalSize{Columns: int(size.Columns), Rows: int(size.Rows)}
	}
	return nil
}

// set changes a value as a patch says: null makes it the zero value.
func set[T any](to *T, p updates.Patch[T]) {
	switch {
	case p.Value != nil:
		*to = *p.Value
	case p.Present:
		*to = *new(T)
	}
}

// patchMeta returns metadata with a patch applied by top-level key.
func patchMeta(meta Meta, p updates.Patch[map[string]json.RawMessage]) (Meta, error) {
	if p.Value == nil {
		if p.Present {
			return nil, nil
		}
		return meta, nil
	}
	patched := maps.Clone(meta)
	if patched == nil {
		patched = make(Meta)
	}
	for name, value := range *p.Value {
		if patched[name] = slices.Clone(value); string(value) == "null" {
			delete(patched, name)
		}
	}
	size := patched.size()
	switch {
	case size > maxAgentText:
		return nil, invalidField("_meta", "too long")
	case size == 0:
		return nil, nil
	}
	return patched, nil
}

// write writes an update's output. If a replacement begins with the present output, only its rest is appended, so that
// followers need not begin again.
func (a *agentTerminal) write(ring *output.Buffer, u updates.Update, deltas bool) {
	if u.Output.Present {
		var all []byte
		if u.Output.Value != nil {
			all = *u.Output.Value
		}
		rest, extends := ring.Extends(all)
		if !extends {
			a.output.Restart()
		}
		a.output.Write(rest)
	}
	a.output.Write(u.Append)
	if rest, extends := ring.Extends(u.Whole); extends && (u.Last || deltas) {
		a.output.Write(rest)
	} else {
		a.output.Write(u.Whole)
	}
}

// agentExited ends the command. The first status with a code or a signal is final, also for later calls.
func (t *Terminal) agentExited(exit updates.Exit) {
	t.mu.Lock()
	if t.agent.exit == (updates.Exit{}) {
		if exit.Signal != nil {
			exit.Signal = new(cutText(*exit.Signal))
		}
		t.agent.exit = exit
		if t.state == StateEnded {
			t.status = t.agent.exitStatus(t.endedBy)
		}
	}
	t.mu.Unlock()
	t.agent.tree.SetExit(proc.Exit{}, nil) // only the first call counts
}

// exitStatus is how the command ended, as far as the agent said. An exit code that is no uint32, such as a negative one
// of Windows, has its lower 32 bits, and is whole in _meta.
func (a *agentTerminal) exitStatus(by EndedBy) (s TerminalExitStatus) {
	s.Meta = by.meta()
	if a.exit.Signal != nil {
		s.Signal = new(*a.exit.Signal)
	}
	if code := a.exit.Code; code != nil {
		s.ExitCode = new(uint32(*code))
		if *code < 0 || *code > math.MaxUint32 {
			s.Meta["acpterm"] = json.RawMessage(fmt.Sprintf(`{"endedBy":%q,"exitCode":%d}`, by, *code))
		}
	}
	return s
}

// cancelByAgent is Kill of a terminal that the agent owns. It returns when the agent has said that the command has
// ended.
func (t *Terminal) cancelByAgent(ctx context.Context) error {
	t.mu.Lock()
	ended, cancellable := t.state == StateEnded, t.agent.cancellable
	if !ended && cancellable {
		t.agent.cancelled = true
	}
	t.mu.Unlock()
	switch {
	case ended:
		return nil
	case !cancellable:
		return &Error{Op: "kill", Kind: ErrNotCancellable, SessionID: t.session, TerminalID: t.id}
	}
	if err := t.agent.cancel(ctx); err != nil && t.State() != StateEnded {
		t.mu.Lock()
		t.agent.cancelled = false
		t.mu.Unlock()
		if ctx.Err() != nil {
			return t.cancelled("kill", ctx)
		}
		return &Error{Op: "kill", Kind: ErrNotCancellable, SessionID: t.session, TerminalID: t.id, Err: err}
	}
	select {
	case <-t.ended.Done():
		return nil
	case <-ctx.Done():
		return t.cancelled("kill", ctx)
	}
}
