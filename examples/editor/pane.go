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

// title returns the command, and whether it runs or how it ended.
func (p *pane) title() string {
	info := p.terminal.Info()
	title := display.Visible(info.Command.String(), 200) + " · " + info.State.String()
	if info.ExitStatus != nil {
		title += ", " + info.ExitStatus.String()
	}
	return title
}

// stop handles the stop button. It asks the command to end, and gives it the manager's grace period. A second stop ends
// it by force. bubbletea calls stop on a new goroutine, because Kill returns only when all processes are gone.
func (p *pane) stop() tea.Msg {
	if err := p.terminal.Kill(context.Background()); err != nil { // such as acpterm.ErrSurvivors
		return change(func(m *model) { m.say("— ", err.Error()) })
	}
	return nil
}

// question is a box on the screen. Keys typed for something else must not answer it, so it begins at a choice that
// allows nothing, and only Enter answers it.
type question struct {
	title, text string
	choices     []string
	allows      []bool // whether a choice allows something: it requires that the user can see the whole text
	selected    int
	answer      chan int
}

// ask shows a question, and returns the index of the user's choice, or -1. When ctx is done, it withdraws the question.
func (e *editor) ask(ctx context.Context, q *question) int {
	q.answer, q.selected = make(chan int, 1), slices.Index(q.allows, false)
	e.change(func(m *model) { m.questions = append(m.questions, q) })
	select {
	case answer := <-q.answer:
		return answer
	case <-ctx.Done():
		e.change(func(m *model) { m.withdraw(q) })
		return -1
	}
}

// approve asks about a command that is about to run.
func (e *editor) approve(ctx context.Context, q acpterm.Question) acpterm.Answer {
	text, _ := display.Question(q, 0) // quotes the agent's words, so that they cannot look like something else
	if e.ask(ctx, &question{title: "The agent wants to run a command", text: text,
		choices: []string{"Run it", "Do not run it"}, allows: []bool{true, false}}) == 0 {
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
		q := &question{title: "The agent asks for permission"}
		q.text, _ = r.Text(0)
		for _, o := range r.Options {
			q.choices = append(q.choices, o.Text(100))
			q.allows = append(q.allows, !strings.HasPrefix(string(o.Kind), "reject_"))
		}
		if answer := e.ask(ctx, q); answer >= 0 {
			return permission.Choice{Option: r.Options[answer], By: "you"}
		}
		return permission.Choice{}
	}), nil
}
