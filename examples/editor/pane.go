package main

// This file has the pane, its stop button, and the question before a command runs.

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/permission"
)

// pane is a terminal as the user sees it.
type pane struct {
	terminal *acpterm.Terminal
	output   string
}

// show adds a pane for a new terminal, and then its output as it arrives. A slow screen does not delay the command: its
// output then comes in larger pieces, or is missed.
func (e *editor) show(t *acpterm.Terminal) {
	p := &pane{terminal: t}
	e.change(func(m *model) { m.panes, m.open = append(m.panes, p), len(m.panes) })
	e.busy.Go(func() {
		var plain display.ANSIStripper
		for chunk := range t.Follow(context.Background(), 0) {
			text := plain.Strip(chunk.Text)
			if chunk.Missed > 0 {
				text = "…" + text
			}
			e.change(func(*model) { p.output = newest(p.output + text) })
		}
	})
	e.busy.Go(func() { // background processes may continue to write after the end of the command
		<-t.Done()
		e.change(func(*model) {})
	})
}

// state returns whether the command runs, or how it ended.
func (p *pane) state() string {
	if status := p.terminal.ExitStatus(); status != nil {
		return "ended, " + status.String()
	}
	return p.terminal.State().String()
}

// stop handles the stop button. A second one ends the command by force, before the manager's grace period is over.
// bubbletea calls stop on a new goroutine, because Stop returns only when all processes are gone.
func (p *pane) stop() tea.Msg {
	if err := p.terminal.Stop(context.Background()); err != nil { // such as acpterm.ErrSurvivors
		return change(func(m *model) { m.say("— ", err.Error()) })
	}
	return nil
}

// question is a box on the screen. Keys typed for something else must not answer it, so it begins at a choice that
// allows nothing, and only Enter answers it.
type question struct {
	title, text string
	options     []permission.Option
	selected    int
	typed       bool // the keys are text for something else
	answer      chan permission.Option
}

// first returns the index of the first option of a kind that begins with a text, or -1.
func (q *question) first(kind string) int {
	return slices.IndexFunc(q.options, func(o permission.Option) bool { return strings.HasPrefix(string(o.Kind), kind) })
}

// ask shows a question, and returns the user's choice. When ctx is done, it withdraws the question.
func (e *editor) ask(ctx context.Context, q *question) permission.Choice {
	q.answer, q.selected = make(chan permission.Option, 1), q.first("reject_")
	e.change(func(m *model) { q.typed, m.questions = m.input.Value() != "", append(m.questions, q) })
	select {
	case answer := <-q.answer:
		return permission.Choice{Option: answer, By: "you"}
	case <-ctx.Done():
		e.change(func(m *model) { m.withdraw(q) })
		return permission.Choice{}
	}
}

// approve asks about a command that is about to run.
func (e *editor) approve(ctx context.Context, q acpterm.Question) acpterm.Answer {
	text, _ := display.Question(q, 0) // quotes the agent's words, so that they cannot look like something else
	options := []permission.Option{{Name: "Run it", Kind: "allow_once"}, {Name: "Do not run it", Kind: "reject_once"}}
	if e.ask(ctx, &question{title: "Run this command?", text: text, options: options}).Option.Kind == "allow_once" {
		return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce, By: "you"}
	}
	return acpterm.Answer{} // denies it, this time
}

// requestPermission asks for the agent, before it creates a terminal. The bridge remembers the answer.
func (e *editor) requestPermission(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	if req.Method != "session/request_permission" || req.Params == nil {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	}
	r, err := permission.Read(*req.Params)
	if err != nil {
		return nil, acpterm.ResponseError(err)
	}
	r.Dir = e.dir
	return e.bridge.Answer(ctx, r, func(ctx context.Context, r permission.Request) permission.Choice {
		text, _ := r.Text(0)
		return e.ask(ctx, &question{title: "The agent asks for permission", text: text, options: r.Options})
	}), nil
}
