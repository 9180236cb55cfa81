package acpterm

// session/update notifications that are about terminals which the agent owns: ACP v2's terminal_update and
// terminal_output_chunk, and the _meta convention of agents on v1. internal/updates reads them; here they change
// terminals (agent_terminal.go).

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"

	"github.com/acpterm/acpterm/internal/updates"
)

const (
	methodSessionUpdate  = "session/update"
	methodCancelTerminal = "terminal/cancel" // ACP v2: the params are a CancelTerminalRequest of the schema
)

// SessionUpdate takes the params of a session/update, of ACP v1 or v2, and returns the ids of the terminals that it was
// about and that the agent owns; none if it was about something else. A terminal that is not known yet begins with it,
// and HandlerOptions.Created is called. It needs HandlerOptions.AgentTerminals, with which Handle, Connect and Filter
// call it. With Dispatch call it yourself, for one notification after the other, in their order.
//
// A terminal that was released begins anew only with an update that says what runs. What cannot be used of an update
// changes nothing, and fails: with ErrInvalidParams, also for a terminal that the client owns or has released; with
// ErrQuota; with ErrSessionNotFound where Options.RequireSessions asks for an open session.
func (h *Handler) SessionUpdate(params json.RawMessage) (terminals []TerminalID, err error) {
	if !h.options.AgentTerminals || h.manager == nil {
		return nil, nil
	}
	session, all, err := updates.Read(params)
	if wrong, ok := errors.AsType[*updates.Error](err); ok {
		return nil, &Error{
			Op: methodSessionUpdate, Kind: ErrInvalidParams, SessionID: SessionID(session),
			Field: wrong.Field, Reason: wrong.Reason,
		}
	}
	for _, u := range all {
		t, err := h.update(h.toInternalID(SessionID(session)), u)
		if err != nil {
			return terminals, h.toWireError(inOperation(methodSessionUpdate, h.toInternalID(SessionID(session)), err))
		}
		if t != nil && (len(terminals) == 0 || terminals[len(terminals)-1] != t.id) {
			terminals = append(terminals, t.id)
		}
	}
	return terminals, nil
}

// takeUpdate is SessionUpdate for a notification that goes on to the embedder.
func (h *Handler) takeUpdate(params json.RawMessage) {
	if _, err := h.SessionUpdate(params); err != nil {
		slog.Warn("acpterm: an agent's update of a terminal cannot be used", "error", err)
	}
}

// ToolCallTerminals returns the ids of the terminals that a tool call's content shows: of those that the client owns,
// and of those that the agent does. The content is an array of the schema type ToolCallContent or, as in ACP v2's
// tool_call_content_chunk, a single one. Other content has none.
func ToolCallTerminals(content json.RawMessage) (ids []TerminalID) {
	for _, id := range updates.ToolCallTerminals(content) {
		ids = append(ids, TerminalID(id))
	}
	return ids
}

// update changes a terminal. It returns nil without an error if the update counts for none.
func (h *Handler) update(session SessionID, u updates.Update) (*Terminal, error) {
	id := TerminalID(u.Terminal)
	if err := checkUpdate(session, u); err != nil {
		return nil, err
	}
	t, err := h.manager.Terminal(session, id)
	switch {
	case u.Known && (err != nil || t.agent == nil):
		return nil, nil
	case err == nil && t.agent == nil, err != nil && h.manager.ids.Issued(string(session), u.Terminal):
		return nil, invalidField("terminalId", "is a terminal of the client's")
	case err != nil:
		return h.adopt(session, u)
	case u.V1 && !t.concerns(u):
		return nil, nil
	}
	return t, t.apply(u)
}

// adopt makes a terminal of an update about one that is not known, unless that was released.
func (h *Handler) adopt(session SessionID, u updates.Update) (*Terminal, error) {
	t, err := h.adoptTracked(session, u)
	if t == nil || h.options.Created == nil {
		return t, err
	}
	if err := callHook("Created", func() { h.options.Created(t) }); err != nil {
		h.manager.discard(t)
		return nil, err
	}
	return t, nil
}

// adoptTracked adopts a terminal that Close releases. Close waits for it to return.
func (h *Handler) adoptTracked(session SessionID, u updates.Update) (*Terminal, error) {
	if !h.beginCreate() {
		return nil, &Error{Kind: ErrClosing}
	}
	defer h.creates.Done()
	key := agentKey{session, TerminalID(u.Terminal)}
	announced := u.Info || !u.V1 && u.Command.Value != nil // as a session that is loaded again does
	if h.released.has(key) && !announced {
		return nil, nil
	}
	t, err := h.manager.adopt(session, &agentTerminal{
		cancel: func(ctx context.Context) error { return h.cancelTerminal(ctx, key.session, key.id) },
		canAsk: func() bool { return h.options.CancelTerminal != nil || h.conn.Load() != nil },
		forget: func() { h.released.add(key) },
	}, u)
	if err != nil {
		return nil, err
	}
	h.track(t)
	return t, nil
}

// agentKey names a terminal that the agent owns.
type agentKey struct {
	session SessionID
	id      TerminalID
}

// maxReleased is how many released terminals of the agent are remembered.
const maxReleased = 4096

// releasedTerminals remembers the last terminals of the agent that were released, so that a late update does not make
// them anew. The zero value is ready. Its methods may be called concurrently.
type releasedTerminals struct {
	mu    sync.Mutex
	seed  maphash.Seed
	known map[uint64]bool // by hash, since ids may be long
	order []uint64        // the oldest at next, once it is full
	next  int
}

func (r *releasedTerminals) add(k agentKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known, r.seed = make(map[uint64]bool), maphash.MakeSeed()
	}
	hash := maphash.Comparable(r.seed, k)
	if len(r.order) < maxReleased {
		r.order = append(r.order, hash)
	} else {
		delete(r.known, r.order[r.next])
		r.order[r.next] = hash
		r.next = (r.next + 1) % maxReleased
	}
	r.known[hash] = true
}

func (r *releasedTerminals) has(k agentKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known != nil && r.known[maphash.Comparable(r.seed, k)]
}

// checkUpdate refuses what an update must not have the client keep.
func checkUpdate(session SessionID, u updates.Update) error {
	meta := 0
	if u.Meta.Value != nil {
		meta = int(Meta(*u.Meta.Value).size())
	}
	for _, part := range []struct {
		field string
		size  int
		most  int
	}{
		{"sessionId", len(session), maxAgentID},
		{"terminalId", len(u.Terminal), maxAgentID},
		{"command", len(*cmp.Or(u.Command.Value, new(""))), maxAgentText},
		{"cwd", len(*cmp.Or(u.Dir.Value, new(""))), maxAgentText},
		{"_meta", meta, maxAgentText},
	} {
		if part.size > part.most {
			return invalidField(part.field, "too long")
		}
	}
	if session == "" {
		return invalidField("sessionId", "must not be empty")
	}
	return nil
}

// cancelTerminal asks the agent to end a terminal's command.
func (h *Handler) cancelTerminal(ctx context.Context, session SessionID, id TerminalID) error {
	session = SessionID(strings.TrimPrefix(string(session), string(h.options.SessionPrefix)))
	request := TerminalRequest{SessionID: session, TerminalID: id}
	conn := h.conn.Load()
	switch {
	case h.options.CancelTerminal != nil:
		var err error
		panicked := callHook("CancelTerminal", func() { err = h.options.CancelTerminal(ctx, request) })
		return cmp.Or(panicked, err)
	case conn == nil:
		return errors.New("there is no connection to the agent")
	}
	return conn.Call(ctx, methodCancelTerminal, request, nil)
}
