package main

// The clients of the tests: one that keeps every promise, and the same with one fault each. A client is the test binary
// itself, with clientMark and the fault as its first arguments, and the agent as the others.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/cmd/acp-terminal-check/internal/child"
)

const clientMark = "-as-client"

type object = map[string]any

// faulty is a client's handler with a fault, or none.
type faulty struct {
	*acpterm.Handler
	manager *acpterm.Manager
	agent   io.Writer // for what is no message
	fault   string

	mu       sync.Mutex
	limits   map[acpterm.TerminalID]uint64 // that the agent asked for
	released map[acpterm.TerminalID]bool   // but were not
}

// runClient is a client that gives the agent one prompt.
func runClient(fault string, line []string) error {
	ctx := context.Background()
	m, err1 := acpterm.NewManager(&acpterm.Options{
		Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Second}},
	})
	agent, err2 := acpterm.StartAgent(ctx, exec.Command(line[0], line[1:]...), nil)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s := acpterm.NewStream(agent, nil)
	h := acpterm.NewHandler(m, nil)
	f := &faulty{
		Handler: h, manager: m, agent: agent, fault: fault,
		limits: make(map[acpterm.TerminalID]uint64), released: make(map[acpterm.TerminalID]bool),
	}
	conn := jsonrpc2.NewConn(ctx, s, f)
	dir, err := os.Getwd()
	var answer struct{ SessionID string }
	call := func(method string, params object) {
		if err == nil {
			err = conn.Call(ctx, method, params, &answer)
		}
	}
	capabilities := any(h.Capabilities())
	if fault == "says nothing of terminals" {
		capabilities = object{}
	}
	info := object{"name": "test", "version": "7"}
	call("initialize", object{"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info})
	call("session/new", object{"cwd": dir, "mcpServers": []any{}})
	if fault != "sends no prompt" {
		call("session/prompt", object{
			"sessionId": answer.SessionID, "prompt": []object{{"type": "text", "text": "check"}},
		})
	}
	return errors.Join(err, h.Close(), agent.Close(), m.Close())
}

// Handle serves the requests that the fault concerns, and leaves the others to the library.
func (f *faulty) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var p struct {
		SessionID  acpterm.SessionID
		TerminalID acpterm.TerminalID
	}
	if req.Params != nil {
		json.Unmarshal(*req.Params, &p)
	}
	t := f.terminal(p.TerminalID)
	if t != nil && t.SessionID() != p.SessionID && f.fault != "asks for no session" {
		t = nil
	}
	reply := func(result any) { conn.Reply(ctx, req.ID, result) }
	switch on := f.fault + " " + req.Method; {
	case on == "dies terminal/kill":
		os.Exit(3)
	case on == "cuts characters terminal/create", on == "ignores the limit terminal/create",
		on == "uses a shell terminal/create":
		f.create(ctx, conn, req)
	case on == "cuts characters terminal/output" && t != nil:
		reply(f.cutOutput(t))
	case on == "waits for the output terminal/wait_for_exit" && t != nil:
		go func() {
			for range t.Follow(ctx, 0) {
			}
			f.Handler.Handle(ctx, conn, req)
		}()
	case on == "waits in order terminal/wait_for_exit" && t != nil:
		t.Wait(ctx)
		f.Handler.Handle(ctx, conn, req)
	case on == "kills one process terminal/kill" && t != nil:
		if process, err := os.FindProcess(t.Info().PID); err == nil && t.State() == acpterm.StateRunning {
			process.Kill()
		}
		reply(object{})
	case on == "logs to the agent terminal/create":
		fmt.Fprintln(f.agent, "client: a terminal is created")
		f.Handler.Handle(ctx, conn, req)
	case on == "only forgets terminal/release" && t != nil:
		f.mu.Lock()
		f.released[p.TerminalID] = true
		f.mu.Unlock()
		reply(object{})
	case f.isReleased(p.TerminalID):
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: -32002, Message: "released"})
	case f.fault == "asks for no session" && t != nil:
		params, _ := json.Marshal(object{"sessionId": t.SessionID(), "terminalId": p.TerminalID})
		f.Handler.Handle(ctx, conn, &jsonrpc2.Request{ID: req.ID, Method: req.Method, Params: (*json.RawMessage)(&params)})
	case f.fault == "answers for any id" && t == nil && slices.Contains(withTerminal, req.Method):
		reply(object{"output": "", "truncated": false})
	default:
		f.Handler.Handle(ctx, conn, req)
	}
}

// withTerminal are the methods that a released terminal does not have.
var withTerminal = []string{acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill}

// terminal returns the terminal of any session; nil: there is none.
func (f *faulty) terminal(id acpterm.TerminalID) *acpterm.Terminal {
	for _, t := range f.manager.Terminals() {
		if t.ID() == id {
			return t
		}
	}
	return nil
}

func (f *faulty) isReleased(id acpterm.TerminalID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.released[id]
}

// create creates a terminal whose limit is not what was asked for, or a shell line.
func (f *faulty) create(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var create acpterm.CreateTerminalRequest
	if err := json.Unmarshal(*req.Params, &create); err != nil {
		f.Handler.Handle(ctx, conn, req)
		return
	}
	asked := create.OutputByteLimit
	if f.fault == "uses a shell" {
		words := append([]string{create.Command}, create.Args...)
		if child.Signals { // the shell is to be replaced, so that the fault is in the arguments alone
			words = append([]string{"exec"}, words...)
		}
		create.Command, create.Args = strings.Join(words, " "), nil
	} else {
		create.OutputByteLimit = nil
	}
	params, _ := json.Marshal(create)
	result, err := f.Dispatch(ctx, req.Method, params)
	if err != nil {
		conn.ReplyWithError(ctx, req.ID, acpterm.ResponseError(err))
		return
	}
	f.mu.Lock()
	if created, ok := result.(acpterm.CreateTerminalResponse); ok && asked != nil {
		f.limits[created.TerminalID] = *asked
	}
	f.mu.Unlock()
	conn.Reply(ctx, req.ID, result)
}

// cutOutput is the output cut at a byte, wherever that is.
func (f *faulty) cutOutput(t *acpterm.Terminal) acpterm.TerminalOutputResponse {
	out := t.Output()
	f.mu.Lock()
	limit, limited := f.limits[t.ID()]
	f.mu.Unlock()
	if size := uint64(len(out.Output)); limited && size > limit {
		out.Output, out.Truncated = strings.ToValidUTF8(out.Output[size-limit:], string(utf8.RuneError)), true
	}
	return out
}
