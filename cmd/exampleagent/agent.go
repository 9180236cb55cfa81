package exampleagent

// This file serves the client's requests: initialize, session/new, session/prompt, session/cancel. turn.go runs the
// turn of a prompt.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	acpagent "github.com/acpterm/acpterm/agent"
)

const protocolVersion = 1

// agent implements jsonrpc2.Handler.
type agent struct {
	terminals *acpagent.Terminals // for the agent's own commands
	turns     sync.WaitGroup      // the running turns
	tokens    string              // the file written by a sign-in, or "" if a sign-in is not required

	mu           sync.Mutex
	capabilities acpterm.ClientCapabilities // from initialize; zero before it
	sessions     map[acpterm.SessionID]*session
}

// session is a conversation. Its fields are guarded by the agent's mu.
type session struct {
	cwd   string
	turns int   // number of turns so far
	turn  *turn // the current turn, or nil
}

// newAgent returns an agent that runs its own commands in m.
func newAgent(m *acpterm.Manager) *agent {
	options := &acpagent.TerminalsOptions{ProtocolVersion: protocolVersion}
	return &agent{terminals: acpagent.NewTerminals(m, options), sessions: make(map[acpterm.SessionID]*session)}
}

// connect serves a client.
func (a *agent) connect(stdio io.ReadWriteCloser) *jsonrpc2.Conn {
	return jsonrpc2.NewConn(context.Background(), acpagent.NewStream(stdio), a.terminals.Handler(a))
}

// Handle is called for one message at a time. While it runs, nothing else is read, not even an answer to the agent's
// own requests. A turn waits for such answers, so it has its own goroutine.
func (a *agent) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	var result any
	var err error
	switch req.Method {
	case "initialize":
		result, err = a.initialize(params)
	case "session/new":
		result, err = a.newSession(params)
	case "session/prompt":
		var t *turn
		if t, err = a.beginTurn(conn, params); err == nil {
			a.turns.Go(func() {
				stopReason, err := t.run(ctx)
				a.endTurn(t)
				answer(ctx, conn, req, map[string]string{"stopReason": stopReason}, err)
			})
			return
		}
	case "session/cancel":
		a.cancelTurn(params)
		return
	default:
		err = &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "method not found: " + req.Method}
	}
	answer(ctx, conn, req, result, err)
}

// answer replies to a request. If that fails, the connection has ended and no one is listening.
func answer(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request, result any, err error) {
	switch {
	case req.Notif:
	case err != nil:
		conn.ReplyWithError(ctx, req.ID, acpterm.ResponseError(err))
	default:
		conn.Reply(ctx, req.ID, result)
	}
}

func (a *agent) initialize(params json.RawMessage) (any, error) {
	capabilities, err := acpagent.ReadClientCapabilities(params)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.capabilities = capabilities
	return map[string]any{
		"protocolVersion": protocolVersion, // the only supported version; other clients disconnect
		"agentCapabilities": map[string]any{ // commands may name any directory that the client allows
			"sessionCapabilities": map[string]any{"additionalDirectories": struct{}{}},
		},
		"agentInfo":   map[string]string{"name": "acpterm-example-agent", "version": "1"},
		"authMethods": a.authMethods(),
	}, nil
}

func (a *agent) newSession(params json.RawMessage) (any, error) {
	var req struct {
		Cwd string `json:"cwd"`
	}
	if err := json.Unmarshal(params, &req); err != nil {
		return nil, invalidParams(err.Error())
	}
	if err := a.signedIn(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	id := acpterm.SessionID(fmt.Sprintf("session-%d", len(a.sessions)+1))
	a.sessions[id] = &session{cwd: req.Cwd}
	return map[string]any{"sessionId": id}, nil
}

// beginTurn registers a turn, so that a session/cancel after the prompt finds it.
func (a *agent) beginTurn(conn *jsonrpc2.Conn, params json.RawMessage) (*turn, error) {
	var req struct {
		SessionID acpterm.SessionID `json:"sessionId"`
		Prompt    []textContent     `json:"prompt"`
	}
	if err := json.Unmarshal(params, &req); err != nil {
		return nil, invalidParams(err.Error())
	}
	var lines []string
	for _, block := range req.Prompt {
		if block.Type == "text" {
			lines = append(lines, block.Text)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[req.SessionID]
	switch {
	case s == nil:
		return nil, invalidParams("no such session")
	case s.turn != nil:
		return nil, invalidParams("the session has a turn under way")
	}
	s.turns++
	command, self := strings.CutPrefix(strings.TrimSpace(strings.Join(lines, "\n")), selfPrefix)
	s.turn = &turn{
		conn:         conn,
		session:      req.SessionID,
		capabilities: a.capabilities,
		command:      strings.TrimSpace(command),
		self:         self,
		terminals:    a.terminals,
		cwd:          s.cwd,
		toolCallID:   fmt.Sprintf("call-%d", s.turns),
		cancelled:    make(chan struct{}),
	}
	s.turn.cancel = sync.OnceFunc(func() { close(s.turn.cancelled) })
	return s.turn, nil
}

func (a *agent) endTurn(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[t.session].turn = nil
}

func (a *agent) cancelTurn(params json.RawMessage) {
	var req struct {
		SessionID acpterm.SessionID `json:"sessionId"`
	}
	if json.Unmarshal(params, &req) != nil {
		return // a notification has no response
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[req.SessionID]; s != nil && s.turn != nil {
		s.turn.cancel()
	}
}

func invalidParams(message string) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: message}
}
