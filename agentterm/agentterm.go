// Package agentterm shows commands run by the agent itself as terminals of the client's Manager. Agents send the output
// of these commands in session/update notifications, using either terminal_update and terminal_output_chunk from ACP v2
// (which, like v2, are experimental) or the _meta convention followed by agents on v1.
//
// If you are using jsonrpc2, wrap your handler with [Terminals.Handler]. The stream is that of acpterm.Handler.Filter:
//
//	terminals := agentterm.New(h, nil) // h is the connection's acpterm.Handler
//	conn := jsonrpc2.NewConn(ctx, stream, terminals.Handler(yours))
//
// If you are using another library, call [Terminals.Update] with the params of each session/update, in the order in
// which the updates are received.
//
// If agents on v1 should follow the convention, use [Advertise] to add it to the capabilities sent with initialize.
// acpterm.HandlerOptions.Created is called with each terminal of the agent, which can be distinguished from the
// client's own terminals by using the Attached method of acpterm.Terminal. The agent's terminals have no local process
// and are not subject to the policy, but they do count towards the Manager's quotas. If a quota is exhausted, the
// terminal that ended first is released to make room. Note that Kill asks the agent to terminate the command, whereas
// releasing the terminal only discards the Manager's record of it.
//
// In ACP v2, agents also report which tool calls the client can cancel (see [Terminals.CancelToolCall]), and the work
// that they do in the background (see Options.Background).
package agentterm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm/internal/updates"
)

// The methods used between a client and the agent.
const (
	// MethodUpdate is a notification sent by the agent. Its params should be passed to Terminals.Update.
	MethodUpdate = "session/update"
	// MethodCancel is a request that the client sends in ACP v2 to terminate a command (schema type
	// CancelTerminalRequest).
	MethodCancel = "terminal/cancel"
)

// Limits for each terminal, in bytes.
const (
	maxID   = 1 << 10
	maxText = 64 << 10 // each for the command, the directory and the metadata
)

// Options specifies optional settings for Terminals. The zero value is ready to use.
type Options struct {
	// Cancel, if non-nil, is called to send a MethodCancel request to the agent, and returns any error that occurs.
	// Kill calls it for terminals that the agent allows the client to cancel. If Cancel is nil, Kill sends the request
	// over the connection used by Terminals.Handler, or returns acpterm.ErrNotCancellable if Handler is not used.
	Cancel func(ctx context.Context, request acpterm.TerminalRequest) error

	// CancelToolCall, if non-nil, is called to send a MethodCancelToolCall request to the agent, and returns any error
	// that occurs. If nil, Terminals.CancelToolCall sends the request over the connection used by Terminals.Handler.
	CancelToolCall func(ctx context.Context, request ToolCallRequest) error

	// Background, if non-nil, is called with all of the work that the agent does in the background of a session, each
	// time an agent on v2 reports it (in a state_update). The list is empty if the agent does none. An agent may also
	// do such work without ever reporting it. Background is called by Update, in the order of the updates.
	Background func(session acpterm.SessionID, work []Work)
}

// Terminals tracks the agent's terminals on a connection. It is safe for concurrent use by multiple goroutines. Updates
// to the same terminal are applied in the order that Update is called.
type Terminals struct {
	handler *acpterm.Handler
	options Options
	conn    atomic.Pointer[jsonrpc2.Conn] // from Handler; nil before its first message

	mu       sync.Mutex
	live     map[key]*terminal
	released released

	toolCalls map[ToolCallRequest]bool // those that can be cancelled, at most maxToolCalls
}

// key identifies a terminal of the agent.
type key struct {
	session acpterm.SessionID
	id      acpterm.TerminalID
}

// terminal is an unreleased terminal.
type terminal struct {
	applying sync.Mutex // held during an update, so that updates change the output one at a time

	// The following fields are guarded by applying.
	attached    *acpterm.Attached // nil if it could not be attached
	about       acpterm.TerminalInfo
	cancellable bool // the agent serves MethodCancel for the terminal
	exited      bool // the agent has sent the exit status
	v1          bool // updates follow the convention of v1
	deltas      bool // a terminal_output_delta was received
	announced   bool // a terminal_info was received
}

// New returns a new Terminals for the connection of h. If options is nil, the defaults are used.
func New(h *acpterm.Handler, options *Options) *Terminals {
	return &Terminals{
		handler: h, options: *cmp.Or(options, &Options{}), live: make(map[key]*terminal),
		toolCalls: make(map[ToolCallRequest]bool),
	}
}

// Advertise modifies the capabilities sent with initialize to indicate that the client shows terminals using the
// convention for v1.
func Advertise(c *acpterm.ClientCapabilities) {
	c.Meta = maps.Clone(c.Meta)
	if c.Meta == nil {
		c.Meta = make(acpterm.Meta)
	}
	c.Meta["terminal_output"], c.Meta["terminal_output_delta"] = json.RawMessage("true"), json.RawMessage("true")
}

// ToolCallTerminals returns the IDs of all terminals in the content of a tool call, regardless of whether they belong
// to the client or to the agent. The content may be either an array of the schema type ToolCallContent or, as in ACP
// v2's tool_call_content_chunk, a single item. For any other content, the result is nil.
func ToolCallTerminals(content json.RawMessage) (ids []acpterm.TerminalID) {
	for _, id := range updates.ToolCallTerminals(content) {
		ids = append(ids, acpterm.TerminalID(id))
	}
	return ids
}

// Update applies the params of a session/update received over ACP v1 or v2. It returns the IDs of the agent's terminals
// that appear in the update, or nil if the update does not concern a terminal of the agent. A terminal is created by
// the first update that mentions it. Once a terminal has been released, it will not be created again unless an update
// announces its command. In v1, a command is announced by a terminal_info; in v2, the update contains the command
// itself. Update also notes which tool calls can be cancelled, and calls Options.Background.
//
// If an update cannot be used, Update makes no changes and returns an error, which is either acpterm.ErrInvalidParams
// or one of the errors returned by the Attach method of acpterm.Handler. Note that acpterm.ErrInvalidParams is also
// returned for terminals that belong to the client itself, even if they have already been released. If a notification
// contains updates for several terminals, any updates that precede the unusable one will still have been applied.
func (ts *Terminals) Update(params json.RawMessage) (terminals []acpterm.TerminalID, err error) {
	n, err := updates.Read(params)
	session := acpterm.SessionID(n.Session)
	if wrong, ok := errors.AsType[*updates.Error](err); ok {
		return nil, invalid(session, wrong.Field, wrong.Reason)
	}
	if n.ToolCall != nil {
		request := ToolCallRequest{session, n.ToolCall.ID}
		if err := ts.updateToolCall(request, *cmp.Or(n.ToolCall.Cancel.Value, new(false))); err != nil {
			return nil, err
		}
	}
	if n.Background != nil && ts.options.Background != nil {
		if err := check(key{session: session}, updates.Update{}); err != nil {
			return nil, err
		}
		ts.reportBackground(session, *n.Background)
	}
	for _, u := range n.Terminals {
		k := key{session, acpterm.TerminalID(u.Terminal)}
		counts, err := ts.update(k, u)
		if err != nil {
			return terminals, err
		}
		if counts && (len(terminals) == 0 || terminals[len(terminals)-1] != k.id) {
			terminals = append(terminals, k.id)
		}
	}
	return terminals, nil
}

// invalid returns the error for an unusable update.
func invalid(session acpterm.SessionID, field, reason string) error {
	return &acpterm.Error{
		Op: MethodUpdate, Kind: acpterm.ErrInvalidParams, SessionID: session, Field: field, Reason: reason,
	}
}

// update applies an update to a terminal. It reports whether the update counts for the terminal.
func (ts *Terminals) update(k key, u updates.Update) (counts bool, err error) {
	if err := check(k, u); err != nil {
		return false, err
	}
	ts.mu.Lock()
	t := ts.live[k]
	announced := u.Info || !u.V1 && u.Command.Value != nil // as in a reloaded session
	if t == nil && (u.Known || ts.released.has(k) && !announced) {
		ts.mu.Unlock()
		return false, nil
	}
	begins := t == nil
	if begins {
		t = new(terminal)
		t.applying.Lock()
		ts.live[k] = t
	}
	ts.mu.Unlock()
	if !begins {
		t.applying.Lock()
	}
	defer t.applying.Unlock()
	if begins {
		return true, ts.begin(k, t, u)
	}
	if t.attached == nil || u.V1 && !t.concerns(u) {
		return false, nil
	}
	if err := ts.patch(k, t, u); err != nil {
		return false, err
	}
	t.attached.Describe(t.about, ts.canceller(k, t))
	t.apply(u)
	return true, nil
}

// begin attaches a terminal. The caller must hold applying.
func (ts *Terminals) begin(k key, t *terminal, u updates.Update) error {
	forget := func() {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if ts.live[k] == t {
			delete(ts.live, k)
		}
	}
	t.about = acpterm.TerminalInfo{SessionID: k.session, ID: k.id}
	err := ts.patch(k, t, u)
	if err == nil {
		t.attached, err = ts.handler.Attach(t.about, ts.canceller(k, t), func() {
			forget()
			ts.mu.Lock()
			defer ts.mu.Unlock()
			ts.released.add(k)
		})
	}
	if err != nil {
		forget()
		if e, ok := errors.AsType[*acpterm.Error](err); ok {
			renamed := *e
			renamed.Op = MethodUpdate
			return &renamed
		}
		return err
	}
	t.apply(u)
	return nil
}

// concerns reports whether an update by the convention of v1 counts for the terminal. Such an update never counts for a
// terminal of v2, although a terminal of v2 may have the id of a tool call.
func (t *terminal) concerns(u updates.Update) bool {
	endKnown := u.Known && u.Exit.Present && t.exited // the earlier exit status is better
	return t.v1 && !endKnown && !(u.Final && t.announced)
}

// patch applies an update, except for its output and exit status.
func (ts *Terminals) patch(k key, t *terminal, u updates.Update) error {
	meta, err := patchMeta(k.session, t.about.Meta, u.Meta)
	if err != nil {
		return err
	}
	t.about.Meta = meta
	t.v1 = t.v1 || u.V1
	t.deltas = t.deltas || u.Delta
	t.announced = t.announced || u.Info
	set(&t.about.Command.ShellLine, u.Command)
	set(&t.about.Command.Dir, u.Dir)
	set(&t.cancellable, u.Cancel)
	if u.Size.Present {
		t.about.Size = nil
	}
	if size := u.Size.Value; size != nil {
		t.about.Size = &acpterm.TerminalSize{Columns: int(size.Columns), Rows: int(size.Rows)}
	}
	return nil
}

// canceller returns a function that asks the agent to end a terminal's command, or nil if the agent cannot be asked.
func (ts *Terminals) canceller(k key, t *terminal) func(context.Context) error {
	if !t.cancellable || !ts.canAsk() {
		return nil
	}
	return func(ctx context.Context) error { return ts.cancel(ctx, k) }
}

// set applies a patch to a value. Null sets the zero value.
func set[T any](to *T, p updates.Patch[T]) {
	switch {
	case p.Value != nil:
		*to = *p.Value
	case p.Present:
		*to = *new(T)
	}
}

// patchMeta returns metadata with a patch applied by top-level key.
func patchMeta(
	session acpterm.SessionID, meta acpterm.Meta, p updates.Patch[map[string]json.RawMessage],
) (acpterm.Meta, error) {
	if p.Value == nil {
		if p.Present {
			return nil, nil
		}
		return meta, nil
	}
	patched := maps.Clone(meta)
	if patched == nil {
		patched = make(acpterm.Meta)
	}
	for name, value := range *p.Value {
		if patched[name] = slices.Clone(value); string(value) == "null" {
			delete(patched, name)
		}
	}
	switch size := metaSize(patched); {
	case size > maxText:
		return nil, invalid(session, "_meta", "too long")
	case size == 0:
		return nil, nil
	}
	return patched, nil
}

// metaSize returns the size of metadata in bytes.
func metaSize(meta map[string]json.RawMessage) (size int) {
	const entry = 100 // overhead of a key and its value, in bytes
	for name, value := range meta {
		size += entry + len(name) + len(value)
	}
	return size
}

// apply applies an update's output and exit status.
func (t *terminal) apply(u updates.Update) {
	if u.Output.Present {
		t.attached.Replace(*cmp.Or(u.Output.Value, new([]byte)))
	}
	t.attached.Write(u.Append)
	whole := u.Whole
	if rest, extends := t.attached.Extends(whole); extends && (u.Last || t.deltas) {
		whole = rest
	}
	t.attached.Write(whole)
	if exit := u.Exit.Value; exit != nil { // null does not clear it, since an end is final
		t.exited = true
		t.attached.Exit(exit.Code, exit.Signal)
	}
}

// check refuses an update with oversized members, or without a session id.
func check(k key, u updates.Update) error {
	meta := 0
	if u.Meta.Value != nil {
		meta = metaSize(*u.Meta.Value)
	}
	for _, part := range []struct {
		field string
		size  int
		most  int
	}{
		{"sessionId", len(k.session), maxID},
		{"terminalId", len(k.id), maxID},
		{"command", len(*cmp.Or(u.Command.Value, new(""))), maxText},
		{"cwd", len(*cmp.Or(u.Dir.Value, new(""))), maxText},
		{"_meta", meta, maxText},
	} {
		if part.size > part.most {
			return invalid(k.session[:min(len(k.session), maxID)], part.field, "too long")
		}
	}
	if k.session == "" {
		return invalid(k.session, "sessionId", "must not be empty")
	}
	return nil
}
