package main

// This file asks the user before a command runs. The manager asks about a command that no rule allows, and the agent
// asks before it creates the terminal.

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/permission"
)

// Dialog is a question to the user. All of its texts are safe to show unchanged.
type Dialog struct {
	Title string
	Text  string
	// Full is the uncut Text. If empty, Text is not cut.
	Full    string
	Choices []Choice
}

// Choice is a button of a dialog.
type Choice struct {
	Label string
	// Allows indicates that a command may run because of it: the user has to have seen all of the text by then.
	Allows bool
}

// noAnswer is the result of Ask for a withdrawn dialog.
const noAnswer = -1

const (
	shownBytes = 600 // of a command's arguments; longer ones are shown on request
	labelBytes = 100 // of the name of an agent's option
	maxAsking  = 100 // pending permission requests of one agent
)

// approve asks the user. The manager remembers an answer for the session, and then does not call approve.
func (e *Editor) approve(ctx context.Context, q acpterm.Question) acpterm.Answer {
	if c := e.conversation(q.SessionID); c != nil {
		var done func()
		ctx, done = c.untilTurnEnds(ctx)
		defer done()
	}
	// The agent chose the words: Question quotes them, so that they can neither hide a part of themselves nor look like
	// something else, and cuts them, so that the rest stays in sight.
	text, omitted := display.Question(q, shownBytes)
	dialog := Dialog{Title: "The agent wants to run a command", Text: text, Choices: []Choice{
		{Label: "Run it", Allows: true},
		{Label: "Run it, and do not ask again in this conversation", Allows: true},
		{Label: "Do not run it"},
	}}
	if omitted > 0 {
		dialog.Full, _ = display.Question(q, 0)
	}
	approvals := map[int]acpterm.Approval{0: acpterm.ApprovalAllowOnce, 1: acpterm.ApprovalSession}
	answer := e.ui.Ask(ctx, dialog)
	if ctx.Err() != nil {
		answer = noAnswer // the answer came too late
	}
	return acpterm.Answer{Approval: approvals[answer], By: string(theUser)} // any other answer rejects it, this time
}

// requestPermission answers a session/request_permission. The bridge remembers the answer for the terminal/create that
// follows.
func (c *Conversation) requestPermission(ctx context.Context, params json.RawMessage) (any, error) {
	r, err := permission.Read(params)
	if err != nil {
		return nil, err
	}
	if r.SessionID != c.session() { // the agent must not speak for another session
		return nil, &acpterm.Error{Op: "request permission", Kind: acpterm.ErrSessionNotFound, SessionID: r.SessionID}
	}
	if c.asking.Load() > maxAsking {
		return nil, &acpterm.Error{Op: "request permission", Kind: acpterm.ErrQuota, Limit: maxAsking}
	}
	told := c.updateToolCall(ToolCall{ID: r.ToolCallID, Title: r.Title, Kind: r.Kind, RawInput: r.RawInput})
	c.editor.ui.ShowToolCall(told) // some agents report a tool call only here
	r.Title, r.Kind, r.Dir = cmp.Or(r.Title, told.Title), cmp.Or(r.Kind, told.Kind), c.dir
	if r.RawInput == nil { // without it, the user is asked when the command is about to run
		r.RawInput = told.RawInput
	}
	ctx, done := c.untilTurnEnds(ctx)
	defer done()
	return c.editor.bridge.Answer(ctx, r, c.editor.choose), nil
}

// choose asks the user to choose one of the agent's options.
func (e *Editor) choose(ctx context.Context, r permission.Request) permission.Choice {
	dialog := Dialog{Title: "The agent asks for permission"}
	var whole bool
	if dialog.Text, whole = r.Text(shownBytes); !whole {
		dialog.Full, _ = r.Text(0)
	}
	if c, ok := r.Command(); ok && strings.Trim(r.Title, "`") == cmp.Or(c.Line, strings.Join(c.Args, " ")) {
		_, dialog.Text, _ = strings.Cut(dialog.Text, "\n") // the first line is the title, and the next the command
		_, dialog.Full, _ = strings.Cut(dialog.Full, "\n")
	}
	for _, option := range r.Options {
		allows := !strings.HasPrefix(string(option.Kind), "reject_")
		dialog.Choices = append(dialog.Choices, Choice{Label: option.Text(labelBytes), Allows: allows})
	}
	answer := e.ui.Ask(ctx, dialog)
	if answer == noAnswer {
		return permission.Choice{}
	}
	return permission.Choice{Option: r.Options[answer], By: string(theUser)}
}

// untilTurnEnds returns a context that ends with ctx, or when the user cancels the turn. An agent waiting for an answer
// must then hear that it will not get one.
func (c *Conversation) untilTurnEnds(ctx context.Context) (context.Context, func()) {
	c.mu.Lock()
	turn := c.turn.ctx
	c.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(turn, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
