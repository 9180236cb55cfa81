package main

// This file asks the user: for the agent before it creates a terminal, and for the manager when a command is about to
// run.

import (
	"context"
	"fmt"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/permission"
)

// requestPermission answers a session/request_permission. The bridge remembers the answer for the terminal/create that
// follows.
func (c *client) requestPermission(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Method != "session/request_permission" || req.Params == nil { // files, for instance
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	}
	r, err := permission.Read(*req.Params)
	if err != nil {
		return nil, acpterm.ResponseError(err)
	}
	if r.SessionID != c.session {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "this is another session"}
	}
	r.Dir = c.dir
	return c.bridge.Answer(ctx, r, func(ctx context.Context, r permission.Request) permission.Choice {
		text, _ := r.Text(0)
		var choices []string
		for _, option := range r.Options {
			choices = append(choices, option.Text(100))
		}
		if answer := c.ask(ctx, "The agent asks for permission:\n"+text, choices); answer >= 0 {
			return permission.Choice{Option: r.Options[answer], By: "you"}
		}
		return permission.Choice{}
	}), nil
}

// approve asks about a command that is about to run.
func (c *client) approve(ctx context.Context, q acpterm.Question) acpterm.Answer {
	text, _ := display.Question(q, 0) // quotes the agent's words, so that they cannot look like something else
	if c.ask(ctx, "The agent wants to run a command:\n"+text, []string{"Run it", "Do not run it"}) == 0 {
		return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce, By: "you"}
	}
	return acpterm.Answer{} // denies it, this time
}

// ask asks a question, and returns the index of the user's choice. It returns -1 when ctx is done, the turn is over or
// the input has ended.
func (c *client) ask(ctx context.Context, text string, choices []string) int {
	c.mu.Lock()
	turn := c.turn
	c.mu.Unlock()
	select {
	case c.asking <- struct{}{}: // one question at a time
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return -1
	case <-turn.Done():
		return -1
	}
	for len(c.typed) > 0 { // text typed before the question does not answer it
		<-c.typed
	}
	for i, choice := range choices {
		text += fmt.Sprintf("%d  %s\n", i+1, choice)
	}
	for {
		c.printer.print("? ", text+"Type a number:\n")
		select {
		case line, ok := <-c.typed:
			if number, err := strconv.Atoi(line); err == nil && number >= 1 && number <= len(choices) {
				return number - 1
			}
			if !ok {
				return -1
			}
		case <-ctx.Done():
			return -1
		case <-turn.Done():
			return -1
		}
	}
}
