package main

// This file opens sessions. Each has the project's directory and the user's additional ones as its roots.

import (
	"encoding/json"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

// newSession has the relevant fields of the request and the response of session/new.
type newSession struct {
	SessionID             acpterm.SessionID `json:"sessionId,omitempty"`
	Cwd                   string            `json:"cwd"`
	AdditionalDirectories []string          `json:"additionalDirectories,omitempty"`
	MCPServers            []any             `json:"mcpServers"`
}

// options returns the options of the session, and of the agent's MCP sessions.
func (s newSession) options() *acpterm.SessionOptions {
	return &acpterm.SessionOptions{Roots: append([]string{s.Cwd}, s.AdditionalDirectories...)}
}

// openNewSession opens a session when the agent's answer to session/new arrives. It sees each message before the next
// one is read, so the session is open before the agent can request a terminal in it.
func (c *Conversation) openNewSession(req *jsonrpc2.Request, answer *jsonrpc2.Response) {
	if req == nil || req.Method != "session/new" || req.Params == nil || answer == nil || answer.Result == nil {
		return
	}
	var asked, opened newSession
	err := json.Unmarshal(*req.Params, &asked) // the directories, which we sent
	if err == nil {
		err = json.Unmarshal(*answer.Result, &opened)
	}
	if err == nil {
		err = c.editor.manager.OpenSession(opened.SessionID, asked.options())
	}
	c.mu.Lock()
	c.id, c.dir, c.notOpened = opened.SessionID, asked.Cwd, err
	c.mu.Unlock()
	c.names.Add(opened.SessionID)
}
