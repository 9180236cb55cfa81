package main

// This file handles the agent's messages other than terminal/*: session/update, and session/request_permission, which
// ask.go answers.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
)

// These constants limit the tool calls of a conversation. When an agent makes more, the ended ones are dropped, or else
// all.
const (
	maxToolCalls     = 1000
	maxTitleBytes    = 4 << 10
	maxNameBytes     = 256      // of an ID, a kind or a status
	maxRawInputBytes = 16 << 10 // a longer one is not kept
	maxCallTerminals = 16
)

// ToolCall is the known state of a tool call. All texts are the agent's.
type ToolCall struct {
	ID, Title, Kind, Status string
	RawInput                json.RawMessage
	Terminals               []acpterm.TerminalID // shown by the tool call
}

// Handle serves everything but terminal/*. Nothing is read from the agent until it returns, so updates stay in order.
// Another goroutine waits for the user's answers.
func (c *Conversation) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	switch {
	case req.Method == "session/update":
		c.update(params)
	case req.Notif:
	case req.Method == "session/request_permission":
		c.asking.Add(1)
		go func() {
			defer c.asking.Add(-1)
			answer, err := c.requestPermission(ctx, params)
			if err != nil {
				conn.ReplyWithError(ctx, req.ID, acpterm.ResponseError(err))
				return
			}
			conn.Reply(ctx, req.ID, answer)
		}()
	default: // files, for instance
		err := &acpterm.Error{Op: req.Method, Kind: acpterm.ErrMethodNotFound}
		conn.ReplyWithError(ctx, req.ID, acpterm.ResponseError(err))
	}
}

// update shows a session/update. It ignores unreadable updates, and those not shown here, such as plans.
func (c *Conversation) update(params json.RawMessage) {
	var n struct {
		SessionID acpterm.SessionID `json:"sessionId"`
		Update    struct {
			Kind       string          `json:"sessionUpdate"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"toolCallId"`
			Title      string          `json:"title"`
			ToolKind   string          `json:"kind"`
			Status     string          `json:"status"`
			RawInput   json.RawMessage `json:"rawInput"`
		} `json:"update"`
	}
	if json.Unmarshal(params, &n) != nil || n.SessionID != c.session() {
		return
	}
	switch u := n.Update; u.Kind {
	case "agent_message_chunk":
		var block struct {
			Text string `json:"text"` // only text blocks have it
		}
		if json.Unmarshal(u.Content, &block) == nil {
			c.editor.ui.Say(theAgent, block.Text)
		}
	case "tool_call", "tool_call_update":
		c.editor.ui.ShowToolCall(c.updateToolCall(ToolCall{
			ID: u.ToolCallID, Title: u.Title, Kind: u.ToolKind, Status: u.Status, RawInput: u.RawInput,
			Terminals: agentterm.ToolCallTerminals(u.Content), // their output is not repeated here
		}))
	case "session_info_update":
		if c.names.SetTitle(params) == nil {
			c.editor.ui.Title(c.names.Name())
		}
	}
}

// ended reports whether the agent has reported the end of the tool call.
func (t *ToolCall) ended() bool { return t.Status == "completed" || t.Status == "failed" }

// beginning returns the beginning of text, cut to most bytes, and does not keep the rest in memory.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:most]), "")
}

// updateToolCall merges an update into the known tool call, and returns the result. Fields without a value have not
// changed. Of a long field, only the beginning is kept.
func (c *Conversation) updateToolCall(u ToolCall) ToolCall {
	u.ID = beginning(u.ID, maxNameBytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.toolCalls[u.ID]
	if known == nil {
		if len(c.toolCalls) >= maxToolCalls {
			maps.DeleteFunc(c.toolCalls, func(_ string, t *ToolCall) bool { return t.ended() })
		}
		if len(c.toolCalls) >= maxToolCalls {
			clear(c.toolCalls)
		}
		known = &ToolCall{ID: u.ID}
		c.toolCalls[u.ID] = known
	}
	known.Title = cmp.Or(beginning(u.Title, maxTitleBytes), known.Title)
	known.Kind = cmp.Or(beginning(u.Kind, maxNameBytes), known.Kind)
	known.Status = cmp.Or(beginning(u.Status, maxNameBytes), known.Status)
	if u.RawInput != nil {
		known.RawInput = bytes.Clone(u.RawInput)
	}
	if len(known.RawInput) > maxRawInputBytes || known.ended() {
		known.RawInput = nil
	}
	if u.Terminals != nil {
		known.Terminals = slices.DeleteFunc(u.Terminals, func(id acpterm.TerminalID) bool { return len(id) > maxNameBytes })
		known.Terminals = slices.Clone(known.Terminals[:min(len(known.Terminals), maxCallTerminals)])
	}
	return *known
}
