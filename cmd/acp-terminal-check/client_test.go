package main

// The clients of the tests: one that keeps every promise, based on the library, and its mutants, which each break one
// promise. A client is the test binary itself. Its first arguments are clientMark and the mutant's name, and the others
// are the agent.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
)

const clientMark = "-as-client"

type object = map[string]any

// client is a client that gives the agent one prompt.
type client struct {
	*acpterm.Handler
	mutant  mutant
	manager *acpterm.Manager
	agent   io.ReadWriteCloser
	turn    chan answer // the agent's answer

	mu        sync.Mutex // guards everything below, and is held during a write
	cancels   map[string]context.CancelFunc
	commands  map[string]request       // the creates by the id of their terminal
	terminals map[string]*terminalFact // by id
}

// terminalFact is a mutant's memory of a terminal.
type terminalFact struct {
	waits, waited, kills, releases, outputs int // requests, and answered waits

	shown bool // in a tool call
	read  int  // bytes of its output
}

// request is a request from the agent. A mutant may change its params.
type request struct {
	id     json.RawMessage
	method string
	params any // an object, except in faulty requests of the agent
}

// answer is a response: a result, as an object, or an error. If none is set, nothing is sent.
type answer struct {
	result object
	err    *jsonrpc2.Error
	none   bool
}

// object returns the params, or an empty object if the agent sent something else.
func (r *request) object() object {
	o, _ := r.params.(object)
	return o
}

func (r *request) text(name string) string {
	text, _ := r.object()[name].(string)
	return text
}

// args returns the arguments of a create.
func (r *request) args() (args []string) {
	list, _ := r.object()["args"].([]any)
	for _, each := range list {
		text, _ := each.(string)
		args = append(args, text)
	}
	return args
}

// runClient runs the client with this mutation, or without one if name is "".
func runClient(name string, line []string) error {
	mutation, ok := mutants()[name]
	if !ok && name != "" {
		return fmt.Errorf("there is no mutant %q", name)
	}
	ctx := context.Background()
	options := acpterm.Options{
		Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Second}},
		},
	}
	if mutation.options != nil {
		mutation.options(&options)
	}
	m, err1 := acpterm.NewManager(&options)
	agent, err2 := agentproc.Start(ctx, exec.Command(line[0], line[1:]...), nil)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	c := &client{
		Handler: acpterm.NewHandler(m, nil), mutant: mutation, manager: m, agent: agent, turn: make(chan answer, 1),
		cancels: make(map[string]context.CancelFunc), commands: make(map[string]request),
		terminals: make(map[string]*terminalFact),
	}
	go c.read(ctx)
	err := c.prompt()
	return errors.Join(err, c.Close(), agent.Close(), m.Close())
}

// prompt runs the client's turn.
func (c *client) prompt() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	capabilities := any(c.Capabilities())
	if c.mutant.silent {
		capabilities = object{}
	}
	info := object{"name": "test", "version": "7"}
	c.call("initialize", object{"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info})
	session := c.call("session/new", object{"cwd": dir, "mcpServers": []any{}})
	if c.mutant.promptless {
		return nil
	}
	a := c.call("session/prompt", object{
		"sessionId": session.result["sessionId"], "prompt": []object{{"type": "text", "text": "check"}},
	})
	if a.none {
		return errors.New("the agent ended the connection")
	}
	return nil
}

// call sends a request to the agent and waits for its answer.
func (c *client) call(method string, params object) answer {
	c.write(object{"jsonrpc": "2.0", "id": "client/" + method, "method": method, "params": params})
	return <-c.turn
}

func (c *client) write(message object) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent.Write(append(line, '\n'))
}

// read reads the agent's messages until the connection ends, and serves requests.
func (c *client) read(ctx context.Context) {
	for in := bufio.NewReader(c.agent); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			c.turn <- answer{none: true}
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params any
			Result object
		}
		switch err := json.Unmarshal(line, &m); {
		case err != nil:
			c.trip("line")
		case m.Method == "":
			c.turn <- answer{result: m.Result}
		case m.ID == nil:
			c.notified(m.Method, request{params: m.Params})
		default:
			c.begin(ctx, request{m.ID, m.Method, m.Params})
		}
	}
}

// trip ends the client if its mutation trips over this kind of message.
func (c *client) trip(what string) {
	if c.mutant.trips == what {
		os.Exit(3)
	}
}

// notified handles a notification.
func (c *client) notified(method string, r request) {
	switch method {
	case "$/cancel_request":
		id, err := json.Marshal(r.object()["requestId"])
		if err != nil {
			panic(err)
		}
		c.mu.Lock()
		cancel := c.cancels[string(id)]
		c.mu.Unlock()
		switch {
		case cancel == nil:
			c.trip("cancel")
		case c.mutant.cancel != nil:
			c.mutant.cancel(c, cancel, string(id))
		default:
			cancel()
		}
	case "session/update":
		update, _ := r.object()["update"].(object)
		content, _ := update["content"].([]any)
		for _, each := range content {
			if shown, _ := each.(object); shown["type"] == "terminal" {
				id, _ := shown["terminalId"].(string)
				f := c.fact(id)
				c.mu.Lock()
				f.shown = true
				c.mu.Unlock()
			}
		}
	default:
		c.trip("notification")
	}
}

// begin serves a request while others are read.
func (c *client) begin(ctx context.Context, r request) {
	ctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.cancels[string(r.id)] = cancel
	c.mu.Unlock()
	do := c.count(&r)
	serve := func() {
		defer cancel()
		a := do(ctx)
		c.mu.Lock()
		delete(c.cancels, string(r.id))
		c.mu.Unlock()
		c.reply(r.id, a)
	}
	if c.mutant.inOrder {
		serve()
		return
	}
	go serve()
}

// count records facts for the mutants, in the order of the requests, and returns the function that serves this one.
func (c *client) count(r *request) func(context.Context) answer {
	f, t := c.fact(r.text("terminalId")), c.terminal(r.text("terminalId"))
	c.mu.Lock()
	defer c.mu.Unlock()
	before := *f
	switch r.method {
	case acpterm.MethodOutput:
		f.outputs++
	case acpterm.MethodWaitForExit:
		f.waits++
	case acpterm.MethodKill:
		f.kills++
	case acpterm.MethodRelease:
		f.releases++
	}
	return func(ctx context.Context) answer {
		next := func() answer { return c.serve(ctx, r) }
		a := answer{}
		if c.mutant.serve == nil {
			a = next()
		} else {
			a = c.mutant.serve(&call{ctx, c, r, t, before}, next)
		}
		switch {
		case r.method == acpterm.MethodWaitForExit:
			c.mu.Lock()
			f.waited++
			c.mu.Unlock()
		case r.method == acpterm.MethodCreate && a.err == nil:
			id, _ := a.result["terminalId"].(string)
			c.mu.Lock()
			c.commands[id] = *r
			c.mu.Unlock()
		}
		return a
	}
}

// fact returns the facts about a terminal.
func (c *client) fact(id string) *terminalFact {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.terminals[id] == nil {
		c.terminals[id] = new(terminalFact)
	}
	return c.terminals[id]
}

// serve serves a request with the library.
func (c *client) serve(ctx context.Context, r *request) answer {
	params, err := json.Marshal(r.params)
	if err != nil {
		panic(err)
	}
	result, err := c.Dispatch(ctx, r.method, params)
	if err != nil {
		return answer{err: acpterm.ResponseError(err)}
	}
	text, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	var a answer
	if err := json.Unmarshal(text, &a.result); err != nil {
		panic(err)
	}
	return a
}

func (c *client) reply(id json.RawMessage, a answer) {
	if c.mutant.id != nil {
		id = c.mutant.id(id)
	}
	switch {
	case a.none:
	case a.err != nil:
		c.write(object{"jsonrpc": "2.0", "id": id, "error": a.err})
	default:
		c.write(object{"jsonrpc": "2.0", "id": id, "result": a.result})
	}
}

// terminal returns the terminal of any session, or nil.
func (c *client) terminal(id string) *acpterm.Terminal {
	for _, t := range c.manager.Terminals() {
		if string(t.ID()) == id {
			return t
		}
	}
	return nil
}
