// Quickstart demonstrates acpterm in a few seconds. It plays both sides of an ACP connection: the client that embeds
// the library, and the agent that asks it to run commands.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -v    # with every message that passes
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
)

const usage = `usage: quickstart [-v]

Demonstrates acpterm in a few seconds, as a client and as its agent.

  quickstart
  quickstart -v
  quickstart -v | grep wait_for_exit

`

func main() {
	if len(os.Args) > 1 && os.Args[1] == "sleep" {
		sleep()
		return
	}
	verbose := flag.Bool("v", false, "print every message")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(os.Stdout, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// sleep is a command that takes too long. It is this program itself, so it exists on every system.
func sleep() {
	fmt.Println("this will take an hour")
	time.Sleep(time.Hour)
}

// demo is the agent. It also has the client's view of the terminals, to show both sides.
type demo struct {
	ctx     context.Context
	client  *agent.Client            // used by the agent to call the client
	created <-chan *acpterm.Terminal // the client's view of each new terminal
	print   func(format string, args ...any)
}

func run(out io.Writer, verbose bool) error {
	ctx := context.Background()
	var mu sync.Mutex
	printf := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, format+"\n", args...)
	}
	clientEnd, agentEnd := net.Pipe() // in real life, the agent's standard input and output

	// The client's side has a manager, a handler and a connection. Created is for showing output as it arrives.
	manager, err := acpterm.NewManager(nil)
	if err != nil {
		return err
	}
	defer manager.Close()
	created := make(chan *acpterm.Terminal, 1)
	handler := acpterm.NewHandler(manager, &acpterm.HandlerOptions{
		Created: func(t *acpterm.Terminal) { created <- t },
	})
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(handler.Filter(ctx, clientEnd)), handler)
	defer conn.Close()

	// The agent's side learns from initialize whether it may call terminal/* at all.
	var traced io.ReadWriteCloser = agentEnd
	if verbose {
		traced = agentproc.Trace(agentEnd, func(line agentproc.TraceLine) {
			who := map[bool]string{true: "agent ", false: "client"}[line.Sent]
			printf("          %s: %s", who, line.Text)
		})
	}
	var capabilities acpterm.ClientCapabilities
	initialize := func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (_ any, err error) {
		capabilities, err = agent.ReadClientCapabilities(*req.Params)
		return map[string]any{"protocolVersion": 1, "agentCapabilities": struct{}{}}, err
	}
	agentConn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(traced), jsonrpc2.HandlerWithError(initialize))
	defer agentConn.Close()

	hello := map[string]any{"protocolVersion": 1, "clientCapabilities": handler.Capabilities()}
	if err := conn.Call(ctx, "initialize", hello, nil); err != nil {
		return err
	}
	printf("client    has terminals: %t", capabilities.Terminal)
	d := &demo{ctx: ctx, client: agent.NewClient(agentConn, capabilities, nil), created: created, print: printf}
	for _, scene := range []func() error{d.works, d.fails, d.takesTooLong, d.overflows, d.isReleased} {
		if err := scene(); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) works() error {
	t, view, err := d.create(acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	if err != nil {
		return err
	}
	d.watch(view)
	return d.end(t)
}

// fails runs a command that fails. This is not an error: the command has an exit code.
func (d *demo) fails() error {
	t, _, err := d.create(acpterm.CreateTerminalRequest{Command: "go", Args: []string{"no-such-command"}})
	if err != nil {
		return err
	}
	return d.end(t)
}

// takesTooLong shows how an agent gives a command a timeout: wait, kill, read the output, release.
func (d *demo) takesTooLong() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	t, view, err := d.create(acpterm.CreateTerminalRequest{Command: self, Args: []string{"sleep"}})
	if err != nil {
		return err
	}
	d.watch(view)
	timeout, cancel := context.WithTimeout(d.ctx, 500*time.Millisecond)
	defer cancel()
	if _, err := t.Wait(timeout); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the command should still run: %w", err)
	}
	d.print("agent     kills it after half a second")
	if err := t.Kill(d.ctx); err != nil {
		return err
	}
	return d.end(t)
}

// overflows produces more output than the agent wants. The agent gets the end of it, in whole characters.
func (d *demo) overflows() error {
	t, view, err := d.create(acpterm.CreateTerminalRequest{
		Command: "go", Args: []string{"help", "build"}, OutputByteLimit: new(uint64(200)),
	})
	if err != nil {
		return err
	}
	if _, err := t.Wait(d.ctx); err != nil {
		return err
	}
	output, err := t.Output(d.ctx)
	if err != nil {
		return err
	}
	d.print("client    wrote %d bytes, and the agent asked for the last %d", view.Info().Written, len(output.Output))
	return t.Release(d.ctx)
}

// isReleased shows that a released terminal is gone for the agent, but still exists for the client.
func (d *demo) isReleased() error {
	t, view, err := d.create(acpterm.CreateTerminalRequest{Command: "go", Args: []string{"version"}})
	if err != nil {
		return err
	}
	if _, err := t.Wait(d.ctx); err != nil {
		return err
	}
	if err := t.Release(d.ctx); err != nil {
		return err
	}
	if _, err = t.Output(d.ctx); !errors.Is(err, acpterm.ErrTerminalNotFound) {
		return errors.New("a released terminal should be unknown")
	}
	d.print("agent     released it: %s", acpterm.ErrTerminalNotFound)
	d.print("client    can still read it: %s", firstLine(view.Output().Output))
	return nil
}

// create calls terminal/create as the agent. It also returns the client's view of the terminal.
func (d *demo) create(req acpterm.CreateTerminalRequest) (*agent.Terminal, *acpterm.Terminal, error) {
	req.SessionID = "session-1" // made by session/new, which is omitted here
	t, err := d.client.Create(d.ctx, req)
	if err != nil {
		return nil, nil, err
	}
	view := <-d.created
	d.print("agent     runs %s", strings.ReplaceAll(view.Command().String(), os.Args[0], "quickstart"))
	return t, view, nil
}

// watch shows the first piece of output, as a user would see it live.
func (d *demo) watch(view *acpterm.Terminal) {
	for chunk := range view.Follow(d.ctx, 0) {
		d.print("client    shows live: %s", firstLine(chunk.Text))
		break
	}
}

// end waits for a command, shows how it ended, and releases its terminal.
func (d *demo) end(t *agent.Terminal) error {
	status, err := t.Wait(d.ctx)
	if err != nil {
		return err
	}
	output, err := t.Output(d.ctx)
	if err != nil {
		return err
	}
	d.print("client    answers %s: %s", status, firstLine(output.Output))
	return t.Release(d.ctx)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
