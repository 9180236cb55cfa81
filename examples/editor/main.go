// Editor shows how a pane, a question and a stop button are wired: the live output of each command of an agent, a
// question before it runs, and a key that stops it. This file connects the agent, pane.go has the three parts, and
// screen.go draws them. docs/embedding-an-editor.md explains the code.
//
//	go run ./examples/editor AGENT [ARG...]    # such as: go run ./examples/agent
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"os/exec"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/permission"
)

// editor is the editor without its screen.
type editor struct {
	bridge       permission.Bridge // asks the user only once about a command that the agent announces and then runs
	capabilities acpterm.ClientCapabilities
	conn         *jsonrpc2.Conn
	dir          string            // of the project
	session      acpterm.SessionID // set by open
	screen       *tea.Program
	busy         sync.WaitGroup // the goroutines that change the screen
}

type object map[string]any

func main() {
	if err := run(exec.Command(os.Args[1], os.Args[2:]...)); err != nil {
		log.Fatal("editor: ", display.Visible(err.Error(), 0)) // may contain the agent's words
	}
}

// run runs the editor until the user quits. It leaves no processes behind.
func run(command *exec.Cmd) (err error) {
	e := new(editor)
	if e.dir, err = os.Getwd(); err != nil {
		return err
	}
	manager, err := acpterm.NewManager(&acpterm.Options{ // one for all agents
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk} // policy.Rules have more verdicts
		}),
		Approve: e.bridge.Approve(e.approve),
	})
	if err != nil {
		return err
	}
	e.screen = tea.NewProgram(&model{editor: e})
	words := func(line string) { e.change(func(m *model) { m.say("agent's log: ", line) }) }
	agent, err := agentproc.Start(context.Background(), command, &agentproc.Options{Stderr: words, Grace: time.Second})
	if err != nil {
		return errors.Join(err, manager.Close())
	}
	e.connect(acpterm.NewHandler(manager, &acpterm.HandlerOptions{Created: e.show}), agent)
	_, err = e.screen.Run()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	manager.Shutdown(ctx)                                  // asks the commands to end
	err = errors.Join(err, manager.Close(), agent.Close()) // kills the remaining ones
	e.busy.Wait()
	return err
}

// connect connects to an agent, until it ends.
func (e *editor) connect(h *acpterm.Handler, agent *agentproc.Process) {
	ctx, disconnected := context.WithCancel(context.Background())
	e.capabilities = h.Capabilities()
	e.conn = jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, agent)), e)
	e.busy.Go(func() {
		<-e.conn.DisconnectNotify()
		disconnected() // withdraws the agent's questions
		status, _ := agent.Wait(context.Background())
		e.change(func(m *model) { m.say("— ", "The agent has ended: "+status.String()) })
	})
}

func (e *editor) open() tea.Msg {
	ctx := context.Background()
	var opened struct{ SessionID acpterm.SessionID }
	err := e.conn.Call(ctx, "initialize", object{"protocolVersion": 1, "clientCapabilities": e.capabilities}, nil)
	if err == nil {
		err = e.conn.Call(ctx, "session/new", object{"cwd": e.dir, "mcpServers": []any{}}, &opened)
	}
	e.session = opened.SessionID
	return change(func(m *model) { m.ready(err) })
}

// prompt gives a prompt to the agent, and returns when its turn has ended.
func (e *editor) prompt(text string) tea.Msg {
	params := object{"sessionId": e.session, "prompt": []object{{"type": "text", "text": text}}}
	err := e.conn.Call(context.Background(), "session/prompt", params, nil)
	return change(func(m *model) { m.ready(err) })
}

// Handle gets all messages except terminal/*. Nothing is read from the agent until it returns, so updates stay in order,
// and another goroutine waits for the user's answer.
func (e *editor) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if !req.Notif {
		e.busy.Go(func() { jsonrpc2.HandlerWithError(e.requestPermission).Handle(ctx, conn, req) })
		return
	}
	var n struct {
		Update struct {
			SessionUpdate string
			Content       struct{ Text string } // a tool call's has another form, and stays empty
		}
	}
	params, _ := json.Marshal(req.Params)
	json.Unmarshal(params, &n)
	if n.Update.SessionUpdate == "agent_message_chunk" {
		e.change(func(m *model) { m.talk = newest(m.talk + n.Update.Content.Text) })
	}
}
