package acpsdk

// Sessions that the agent makes. The SDK returns an answer to its caller and serves the agent's next request
// concurrently, so the answer to session/new is looked at before the SDK reads it.

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

// Session is a session that the agent has made.
type Session struct {
	// ID is the id for Manager.OpenSession: Options.SessionPrefix and the id that the agent chose.
	ID acpterm.SessionID
	// Cwd and AdditionalDirectories are what the client asked for in session/new or session/fork.
	Cwd                   string
	AdditionalDirectories []string
}

// Connect is acp.NewClientSideConnection for the client that embeds the Terminals: toAgent is the agent's standard
// input and fromAgent its standard output. It calls Options.NewSession for the agent's sessions, and reads through
// NewReader.
func (t *Terminals) Connect(client acp.Client, toAgent io.Writer, fromAgent io.Reader) *acp.ClientSideConnection {
	if !t.TerminalCapability() {
		return acp.NewClientSideConnection(client, toAgent, fromAgent)
	}
	s := &sessions{prefix: t.options.SessionPrefix, hook: t.options.NewSession, asked: make(map[float64]Session)}
	r := newReader(fromAgent)
	if s.hook != nil {
		toAgent = &writer{toAgent, s}
		r.received = s.answer
	}
	return acp.NewClientSideConnection(client, toAgent, r)
}

// sessions calls the hook with the answers to session/new and session/fork.
type sessions struct {
	prefix acpterm.SessionID
	hook   func(Session)

	mu    sync.Mutex
	asked map[float64]Session // requests without an answer, by their ids; an id may be written as 1 and as 1.0
}

// writer is what the SDK writes to.
type writer struct {
	to       io.Writer
	sessions *sessions
}

// Write writes a line: the SDK writes each with one call.
func (w *writer) Write(line []byte) (int, error) {
	w.sessions.request(line)
	return w.to.Write(line)
}

// request looks at a line that is about to be sent.
func (s *sessions) request(line []byte) {
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
	s.asked[*m.ID] = Session{Cwd: m.Params.Cwd, AdditionalDirectories: m.Params.AdditionalDirectories}
}

// answer looks at a line that was received.
func (s *sessions) answer(line []byte) {
	session, ok := s.answered(line)
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

// answered returns the session that a line is the answer for.
func (s *sessions) answered(line []byte) (_ Session, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
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
	session, ok := s.asked[*m.ID]
	delete(s.asked, *m.ID)
	var result struct {
		SessionID acpterm.SessionID `json:"sessionId"`
	}
	if !ok || m.Error != nil || json.Unmarshal(m.Result, &result) != nil || result.SessionID == "" {
		return Session{}, false
	}
	session.ID = s.prefix + result.SessionID
	return session, true
}
