package main

// This file offers the client's terminals to the agent as tools, for -mcp: some agents do not use terminal/*, but they
// use the MCP servers of session/new. Such commands run in the same manager, so all flags apply to them, and they are
// shown like the others.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver"
)

// listenForTools returns the listener of -mcp. An agent that cannot connect to it starts this program as a relay.
func listenForTools() (*mcpserver.Listener, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("-mcp: %w", err)
	}
	listener, err := mcpserver.Listen(&mcpserver.ListenOptions{Relay: self})
	if err != nil {
		return nil, fmt.Errorf("-mcp: %w", err)
	}
	return listener, nil
}

// offerTools returns the mcpServers for session/new, given the agent's response to initialize. Without -mcp, there are
// none. withdraw ends the agent's MCP sessions and their commands, and stops waiting for that when ctx is done.
func (s *session) offerTools(initialized json.RawMessage) (
	servers []any, withdraw func(context.Context) error, err error,
) {
	if s.tools == nil {
		return []any{}, func(context.Context) error { return nil }, nil
	}
	server := mcpserver.New(s.manager, &mcpserver.Options{
		Session: s.options(), Created: s.screen.follow,
		Opened: func(id acpterm.SessionID) func() {
			s.nameSession(id)
			return nil
		},
	})
	entry, err := server.Entry(s.tools, "", initialized)
	if err != nil {
		return nil, nil, fmt.Errorf("-mcp: %w", err)
	}
	return []any{entry}, func(ctx context.Context) error {
		return await(ctx, nil, func() error { return errors.Join(entry.Close(), server.Close()) })
	}, nil
}
