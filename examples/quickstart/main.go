// Quickstart shows what acpterm does, in a few seconds: it plays both ends of an ACP connection, the client
// that embeds the library and the agent that asks it to run commands, and prints what passes between them.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "sleep" {
		sleep()
		return
	}
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// sleep is a command that takes too long: this program itself, so that there is one on every system.
func sleep() {
	fmt.Println("this will take an hour")
	time.Sleep(time.Hour)
}

// demo is the agent, and what it knows of the client's side to show it.
type demo struct {
	ctx     context.Context
	agent   *jsonrpc2.Conn
	created <-chan *acpterm.Terminal // the client's view of each terminal, as it is created
	paper   *log.Logger              // where everything is written down
}

func run(out io.Writer) error {
	ctx := context.Background()
	paper := log.New(out, "", 0)
	clientEnd, agentEnd := net.Pipe() // in real life: the agent's standard input and output

	// The client's side: a manager, a handler, a connection. Created is for showing output while it comes.
	manager, err := acpterm.NewManager(nil)
	if err != nil {
		return err
	}
	defer manager.Close()
	created := make(chan *acpterm.Terminal, 1)
	handler := acpterm.NewHandler(manager, &acpterm.HandlerOptions{
		Created: func(t *acpterm.Terminal) { created <- t },
	})
	client := handler.Connect(ctx, acpterm.NewStream(clientEnd, nil))
	defer client.Close()

	// The agent's side. From initialize it learns whether it may call terminal/* at all.
	var capabilities acpterm.ClientCapabilities
	initialize := func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (_ any, err error) {
		capabilities, err = acpterm.ReadClientCapabilities(*req.Params)
		return map[string]any{"protocolVersion": 1, "agentCapabilities": struct{}{}}, err
	}
	agent := jsonrpc2.NewConn(ctx, acpterm.NewStream(agentEnd, nil), jsonrpc2.HandlerWithError(initialize), recordOn(paper)...)
	defer agent.Close()

	paper.Print("\n# The client tells the agent that it has terminals")
	hello := map[string]any{"protocolVersion": 1, "clientCapabilities": handler.Capabilities()}
	if err := client.Call(ctx, "initialize", hello, nil); err != nil {
		return err
	}
	if err := capabilities.Require(acpterm.MethodCreate); err != nil {
		return err
	}
	d := &demo{ctx: ctx, agent: agent, created: created, paper: paper}
	for _, scene := range []func() error{d.works, d.fails, d.takesTooLong, d.overflows, d.isReleased} {
		if err := scene(); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) works() error {
	d.paper.Print("\n# It asks for a command, and a person watches")
	ref, t, err := d.create(acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	if err != nil {
		return err
	}
	for chunk := range t.Follow(d.ctx, 0) { // each piece as it comes, until there can be no more
		d.paper.Printf("  the person sees  %q", chunk.Text)
	}
	return d.call(ref, acpterm.MethodWaitForExit, acpterm.MethodOutput, acpterm.MethodRelease)
}

func (d *demo) fails() error {
	d.paper.Print("\n# A command that fails is no error: it has an exit code")
	ref, _, err := d.create(acpterm.CreateTerminalRequest{Command: "go", Args: []string{"no-such-command"}})
	if err != nil {
		return err
	}
	return d.call(ref, acpterm.MethodWaitForExit, acpterm.MethodOutput, acpterm.MethodRelease)
}

// takesTooLong is how an agent gives a command a timeout: wait, kill, look at the output, release.
func (d *demo) takesTooLong() error {
	d.paper.Print("\n# A command outlives the agent's patience")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ref, t, err := d.create(acpterm.CreateTerminalRequest{Command: self, Args: []string{"sleep"}})
	if err != nil {
		return err
	}
	for chunk := range t.Follow(d.ctx, 0) {
		d.paper.Printf("  the person sees  %q", chunk.Text)
		break // that it runs is all we want to see
	}
	waiting, err := d.agent.DispatchCall(d.ctx, acpterm.MethodWaitForExit, ref)
	if err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(d.ctx, 500*time.Millisecond)
	defer cancel()
	if err := waiting.Wait(patience, nil); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the command should still run: %w", err)
	}
	d.paper.Print("  (no answer for half a second)")
	if err := d.call(ref, acpterm.MethodKill); err != nil {
		return err
	}
	if err := waiting.Wait(d.ctx, nil); err != nil { // the pending wait has its answer now
		return err
	}
	return d.call(ref, acpterm.MethodOutput, acpterm.MethodRelease)
}

func (d *demo) overflows() error {
	d.paper.Print("\n# More output than the agent wants: it gets the last of it, in whole characters")
	limit := uint64(200)
	ref, t, err := d.create(acpterm.CreateTerminalRequest{
		Command: "go", Args: []string{"help", "build"}, OutputByteLimit: &limit,
	})
	if err != nil {
		return err
	}
	if err := d.call(ref, acpterm.MethodWaitForExit, acpterm.MethodOutput, acpterm.MethodRelease); err != nil {
		return err
	}
	d.paper.Printf("  (of %d bytes the agent got %d)", t.OutputTotal(), len(t.Output().Output))
	return nil
}

func (d *demo) isReleased() error {
	d.paper.Print("\n# After its release a terminal is gone for the agent, and still there for the client")
	ref, t, err := d.create(acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	if err != nil {
		return err
	}
	if err := d.call(ref, acpterm.MethodWaitForExit, acpterm.MethodRelease); err != nil {
		return err
	}
	refusal, ok := errors.AsType[*jsonrpc2.Error](d.call(ref, acpterm.MethodOutput))
	if !ok || refusal.Code != acpterm.CodeResourceNotFound {
		return errors.New("a released terminal should be unknown")
	}
	status, err := t.Wait(d.ctx)
	if err != nil {
		return err
	}
	d.paper.Printf("  the client still reads %q and %v", t.Output().Output, status)
	return nil
}

// create is the agent's terminal/create. It returns how to name the terminal in later requests, which have all
// the same fields, and the client's view of it.
func (d *demo) create(req acpterm.CreateTerminalRequest) (acpterm.TerminalOutputRequest, *acpterm.Terminal, error) {
	req.SessionID = "session-1" // made by session/new, which is left out here
	var answer acpterm.CreateTerminalResponse
	if err := d.agent.Call(d.ctx, acpterm.MethodCreate, req, &answer); err != nil {
		return acpterm.TerminalOutputRequest{}, nil, err
	}
	return acpterm.TerminalOutputRequest{SessionID: req.SessionID, TerminalID: answer.TerminalID}, <-d.created, nil
}

// call makes requests about a terminal, one after the other.
func (d *demo) call(ref acpterm.TerminalOutputRequest, methods ...string) error {
	for _, method := range methods {
		if err := d.agent.Call(d.ctx, method, ref, nil); err != nil {
			return err
		}
	}
	return nil
}

// recordOn writes down what passes at the agent's end of the connection.
func recordOn(paper *log.Logger) []jsonrpc2.ConnOpt {
	record := func(who string) func(*jsonrpc2.Request, *jsonrpc2.Response) {
		return func(req *jsonrpc2.Request, answer *jsonrpc2.Response) {
			switch {
			case answer == nil:
				paper.Printf("  %s asks      %s %s", who, req.Method, *req.Params)
			case answer.Error != nil:
				text, _ := json.Marshal(answer.Error)
				paper.Printf("  %s refuses   %s", who, text)
			default:
				paper.Printf("  %s answers   %s", who, *answer.Result)
			}
		}
	}
	return []jsonrpc2.ConnOpt{
		jsonrpc2.OnSend(record("agent ")),
		jsonrpc2.OnRecv(record("client")),
	}
}
