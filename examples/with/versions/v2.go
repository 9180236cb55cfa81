package main

// ACP v2 on sourcegraph/jsonrpc2. The agent runs its commands itself and reports them, so the client's Handler refuses
// terminal/*, and agentterm makes terminals of the reports.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/display"
)

type object map[string]any

// turn handles the messages that agentterm leaves. The prompt is answered at once, and an update ends the turn.
type turn struct{ ended chan string }

func (t *turn) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var p struct {
		Update struct {
			SessionUpdate, State, StopReason string
			Content                          json.RawMessage
		}
		Options []struct{ OptionID string }
	}
	if req.Params != nil {
		if err := json.Unmarshal(*req.Params, &p); err != nil {
			return nil, acpterm.ResponseError(&acpterm.Error{Op: req.Method, Kind: acpterm.ErrInvalidParams, Err: err})
		}
	}
	switch {
	case req.Method == "session/update" && p.Update.SessionUpdate == "agent_message_chunk":
		var block struct{ Text string }
		if json.Unmarshal(p.Update.Content, &block) == nil { // otherwise it is not text
			fmt.Print(display.StripANSI(block.Text))
		}
	case req.Method == "session/update" && p.Update.SessionUpdate == "state_update" && p.Update.State == "idle":
		select {
		case t.ended <- p.Update.StopReason:
		default: // another turn, without a prompt
		}
	case req.Method == "session/request_permission" && len(p.Options) > 0: // a real client asks its user
		return object{"outcome": object{"outcome": "selected", "optionId": p.Options[0].OptionID}}, nil
	case !req.Notif:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	}
	return nil, nil
}

func (c *conversation) promptV2(ctx context.Context, text string) (stopReason string, err error) {
	h := acpterm.NewHandler(c.manager, &acpterm.HandlerOptions{
		Created: c.show, Capabilities: new(acpterm.ClientCapabilities), // v2 does not have terminal/*
	})
	defer func() { err = errors.Join(err, h.Close()) }()
	t := &turn{ended: make(chan string, 1)}
	next := agentterm.New(h, nil).Handler(jsonrpc2.HandlerWithError(t.handle))
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, c)), next)
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	var session struct{ SessionID string }
	if err := conn.Call(ctx, "session/new", object{"cwd": dir}, &session); err != nil {
		return "", err
	}
	prompt := object{"sessionId": session.SessionID, "prompt": []object{{"type": "text", "text": text}}}
	if err := conn.Call(ctx, "session/prompt", prompt, nil); err != nil {
		return "", err
	}
	select {
	case stopReason = <-t.ended:
		return stopReason, nil
	case <-conn.DisconnectNotify():
		return "", jsonrpc2.ErrClosed
	}
}
