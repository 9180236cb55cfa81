package main

// This file offers the terminals to agents as tools of an MCP server, because some agents do not use terminal/*. Their
// commands run in the same Manager, with a pane and a question like the others.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver"
)

// OfferTools makes later conversations offer the tools. An agent that cannot connect by HTTP starts this program as a
// relay.
func (e *Editor) OfferTools() error {
	self, err := os.Executable()
	if err == nil {
		e.tools, err = mcpserver.Listen(&mcpserver.ListenOptions{Relay: self})
	}
	return err
}

// offerTools returns the mcpServers for session/new, given the agent's response to initialize. The agent's MCP sessions
// have the same options as its session.
func (c *Conversation) offerTools(options *acpterm.SessionOptions, initialized json.RawMessage) ([]any, error) {
	e := c.editor
	if e.tools == nil {
		return []any{}, nil
	}
	server := mcpserver.New(e.manager, &mcpserver.Options{Session: options, Opened: c.own, Created: c.show})
	entry, err := server.Entry(e.tools, "", initialized)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withdraw = func() error { return errors.Join(entry.Close(), server.Close()) }
	return []any{entry}, nil
}

// own makes an MCP session one of the conversation, until closed is called.
func (c *Conversation) own(id acpterm.SessionID) (closed func()) {
	e := c.editor
	e.mu.Lock()
	defer e.mu.Unlock()
	e.owners[id] = c
	c.names.Add(id)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.owners, id)
	}
}

// withdrawTools ends the agent's MCP sessions and their commands. It stops waiting for that when ctx is done.
func (c *Conversation) withdrawTools(ctx context.Context) error {
	c.mu.Lock()
	withdraw := c.withdraw
	c.mu.Unlock()
	if withdraw == nil {
		return nil
	}
	withdrawn := make(chan error, 1)
	c.editor.busy.Go(func() { withdrawn <- withdraw() })
	select {
	case err := <-withdrawn:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ofConversation calls ask about a command of an MCP session as about one of the agent's own session. So the bridge
// finds the permission that the agent has asked for, and a cancel of the turn withdraws the question.
func (e *Editor) ofConversation(
	ask func(context.Context, acpterm.Question) acpterm.Answer,
) func(context.Context, acpterm.Question) acpterm.Answer {
	return func(ctx context.Context, q acpterm.Question) acpterm.Answer {
		if c := e.conversation(q.SessionID); c != nil {
			q.SessionID = cmp.Or(c.session(), q.SessionID) // not known before the agent has answered session/new
		}
		return ask(ctx, q)
	}
}
