package acpsdk

// Support for Options.NewSession. The SDK serves the agent's next request while it returns an answer to its caller.
// Therefore, the response to session/new is read before the SDK reads it.

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/acpterm/acpterm"
	acp "github.com/coder/acp-go-sdk"
)

// A Session is a session created by the agent.
type Session struct {
	// ID identifies the session in Manager.OpenSession. It consists of Options.SessionPrefix followed by the agent's
	// ID.
	ID acpterm.SessionID
	// Cwd and AdditionalDirectories hold the values from the session/new or session/fork request sent by the client.
	Cwd                   string
	AdditionalDirectories []string
}

// Connect is like acp.NewClientSideConnection, but it reads through NewReader, calls Options.NewSession, and supports
// Options.AgentTerminals. The type of client should embed t. The toAgent and fromAgent arguments are the standard input
// and standard output of the agent, respectively.
func (t *Terminals) Connect(client acp.Client, toAgent io.Writer, fromAgent io.Reader) *acp.ClientSideConnection {
	if !t.TerminalCapability() {
		return acp.NewClientSideConnection(client, toAgent, fromAgent)
	}
	s := &sessions{prefix: t.options.SessionPrefix, hook: t.options.NewSession, pending: make(map[float64]Session)}
	r := newReader(fromAgent)
	if s.hook != nil {
		toAgent = &writer{toAgent, s}
	}
	r.onLine = func(line []byte) (forSDK bool) {
		s.readAnswer(line)
		return t.agents == nil || readUpdate(t.agents, line)
	}
	return acp.NewClientSideConnection(client, toAgent, r)
}

// sessions calls the hook for each response to session/new and session/fork.
type sessions struct {
	prefix acpterm.SessionID
	hook   func(Session)

	mu      sync.Mutex
	pending map[float64]Session // by request id, a number: 1.0 answers 1
}

// writer records the SDK's session requests.
type writer struct {
	to       io.Writer
	sessions *sessions
}

// Write writes a single line, since the SDK makes exactly one call for each line.
func (w *writer) Write(line []byte) (int, error) {
	w.sessions.readRequest(line)
	return w.to.Write(line)
}

// readRequest records a session request before it is sent.
func (s *sessions) readRequest(line []byte) {
	if !bytes.Contains(line, []byte(`"session/`)) {
		return
	}
	var m struct {
		ID     *float64 `json:"id"`
		Method string   `json:"method"`
		Params struct {
			Cwd                   string   `json:"cwd"`
			AdditionalDirectories []string `json:"additionalDirectories"`
		} `json:"params"`
	}
	err := json.Unmarshal(line, &m)
	if err != nil || m.ID == nil || m.Method != acp.AgentMethodSessionNew && m.Method != acp.AgentMethodSessionFork {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending[*m.ID] = Session{Cwd: m.Params.Cwd, AdditionalDirectories: m.Params.AdditionalDirectories}
}

// readAnswer calls the hook if the received line creates a session.
func (s *sessions) readAnswer(line []byte) {
	session, ok := s.created(line)
	if !ok {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			slog.Error("acpsdk: Options.NewSession panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	s.hook(session)
}

// created returns the session created by a line.
func (s *sessions) created(line []byte) (_ Session, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return Session{}, false
	}
	var m struct {
		ID     *float64         `json:"id"`
		Method string           `json:"method"`
		Result json.RawMessage  `json:"result"`
		Error  *json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method != "" {
		return Session{}, false
	}
	session, ok := s.pending[*m.ID]
	delete(s.pending, *m.ID)
	var result struct {
		SessionID acpterm.SessionID `json:"sessionId"`
	}
	if !ok || m.Error != nil || json.Unmarshal(m.Result, &result) != nil || result.SessionID == "" {
		return Session{}, false
	}
	session.ID = s.prefix + result.SessionID
	return session, true
}
