// Jrpc2 is a client made with creachadair/jrpc2 whose agent can run commands: go run . PROMPT AGENT [ARG ...]
//
// With any other JSON-RPC library it is done in the same way. There are five rules:
//
//  1. Hand each terminal/* request to Handler.Dispatch: its method, and its params as the JSON that came. What that
//     returns is the answer.
//  2. Call it in a goroutine of its own for each request. A wait returns when its command has ended, and the kill that
//     ends the command must be read and answered meanwhile.
//  3. End its ctx when a $/cancel_request names the request's id, and when the connection ends; not before it has
//     returned. Know a request by its id before the next message is looked at, or the cancel that follows it finds
//     nothing.
//  4. Send an error as acpterm.ResponseError has it: the code, the message and the data.
//  5. Call Handler.Close when the connection has ended, whoever ended it. When that returns, the agent's commands are
//     gone. Manager.Close comes after it.
//
// Look up what your library does with a line that is no JSON, with the order of messages, and with an agent that does
// not read. For jrpc2, conn.go says it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"

	"github.com/acpterm/acpterm"
	"github.com/creachadair/jrpc2"
)

func main() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), m, os.Stdout, os.Args[1], exec.Command(os.Args[2], os.Args[3:]...))
	if err = errors.Join(err, m.Close()); err != nil {
		log.Fatal(err)
	}
}

// run has an agent answer a prompt, and prints what it says. When it returns, the agent has ended.
func run(ctx context.Context, m *acpterm.Manager, out io.Writer, prompt string, cmd *exec.Cmd) error {
	agent, err := acpterm.StartAgent(ctx, cmd, nil)
	if err != nil {
		return err
	}
	connected, disconnect := context.WithCancel(ctx)
	c := &client{terminals: acpterm.NewHandler(m, nil), requests: newRequests(connected), out: out}
	var closed error
	rpc := jrpc2.NewClient(newConn(agent, c.requests, c.notified), &jrpc2.ClientOptions{
		OnCallback: c.serve,
		OnStop: func(*jrpc2.Client, error) { // the connection has ended
			disconnect()
			closed = c.terminals.Close() // rule 5
		},
	})
	err = talk(ctx, rpc, c, prompt)
	agent.Close() // before jrpc2 is told: it would wait for an agent that does not read
	rpc.Close()   // returns when OnStop has
	return errors.Join(err, closed)
}

// talk is what the client asks of the agent.
func talk(ctx context.Context, rpc *jrpc2.Client, c *client, prompt string) error {
	type object map[string]any
	var session, turn struct{ SessionID, StopReason string }
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	initialize := object{"protocolVersion": 1, "clientCapabilities": c.terminals.Capabilities()}
	if _, err := rpc.Call(ctx, "initialize", initialize); err != nil {
		return err
	}
	open := object{"cwd": dir, "mcpServers": []any{}}
	if err := rpc.CallResult(ctx, "session/new", open, &session); err != nil {
		return err
	}
	say := object{"sessionId": session.SessionID, "prompt": []any{object{"type": "text", "text": prompt}}}
	if err := rpc.CallResult(ctx, "session/prompt", say, &turn); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, turn.StopReason)
	return err
}

// client is what the agent finds at its other end.
type client struct {
	terminals *acpterm.Handler
	requests  *requests
	out       io.Writer
}

// serve answers a request. jrpc2 calls it in a goroutine of its own for each (rule 2).
func (c *client) serve(_ context.Context, req *jrpc2.Request) (any, error) {
	ctx := c.requests.begin(req.ID())
	defer c.requests.end(req.ID())
	var params json.RawMessage
	req.UnmarshalParams(&params)
	if req.Method() == "session/request_permission" {
		return permit(params)
	}
	result, err := c.terminals.Dispatch(ctx, req.Method(), params) // rules 1 and 3; refuses what is not terminal/*
	if err != nil {
		e := acpterm.ResponseError(err) // rule 4
		return nil, (&jrpc2.Error{Code: jrpc2.Code(e.Code), Message: e.Message}).WithData(e.Data)
	}
	return result, nil
}

// permit selects the first option. A real client asks its user.
func permit(params json.RawMessage) (any, error) {
	var p struct{ Options []struct{ OptionID string } }
	if json.Unmarshal(params, &p) != nil || len(p.Options) == 0 {
		return nil, &jrpc2.Error{Code: jrpc2.InvalidParams, Message: "there are no options"}
	}
	return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": p.Options[0].OptionID}}, nil
}

// notified gets the notifications in the order in which they came, by the goroutine that reads.
func (c *client) notified(method string, params json.RawMessage) {
	var p struct {
		RequestID json.RawMessage // of $/cancel_request
		Update    struct {
			SessionUpdate string
			Content       struct{ Text string }
		}
	}
	json.Unmarshal(params, &p) // what is of another shape, as a tool call's content, stays empty
	switch {
	case method == acpterm.MethodCancelRequest:
		c.requests.cancel(string(p.RequestID)) // rule 3
	case p.Update.SessionUpdate == "agent_message_chunk":
		fmt.Fprint(c.out, p.Update.Content.Text)
	}
}
