// Client is an ACP client for any agent, in a few hundred lines: to read, to copy, and to try an agent with.
//
//	go run ./examples/client AGENT [ARG...]    # such as: go run ./examples/agent
//
// Each line that the user types is a prompt. The client shows the agent's text and the live output of its commands, and
// asks before a command runs. Ctrl-C stops the agent's turn, and between turns the client. This file has the
// connection, question.go asks the user, and print.go prints.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/permission"
	"github.com/acpterm/acpterm/policy"
)

func main() {
	if err := run(exec.Command(os.Args[1], os.Args[2:]...), os.Stdin, os.Stdout); err != nil {
		log.Fatal("client: ", display.Visible(err.Error(), 0)) // may contain the agent's words
	}
}

// client is one agent with one session.
type client struct {
	dir        string // of the session
	manager    *acpterm.Manager
	agent      *agentproc.Process
	conn       *jsonrpc2.Conn
	bridge     permission.Bridge // asks the user only once about a command that the agent announces and then runs
	interrupts chan os.Signal    // Ctrl-C
	typed      chan string       // lines of the user, closed at the end of input
	asking     chan struct{}     // holds a value while a question is asked
	printer    printer

	session   acpterm.SessionID // set by openSession
	notOpened error

	mu   sync.Mutex
	turn context.Context // ends with the turn, or when the user cancels it
}

type object map[string]any

// run talks to an agent until the user ends the input or interrupts. It leaves no processes behind.
func run(command *exec.Cmd, in io.Reader, out io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c := &client{printer: printer{out: out}, interrupts: make(chan os.Signal, 1),
		typed: make(chan string, 100), asking: make(chan struct{}, 1)}
	signal.Notify(c.interrupts, os.Interrupt)
	if c.dir, err = os.Getwd(); err != nil {
		return err
	}
	ask := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.VerdictAsk} // policy.Rules have more verdicts
	})
	c.manager, err = acpterm.NewManager(&acpterm.Options{
		RequireSessions: true,
		Policy:          acpterm.Policies{ask, policy.AllowVariables(policy.SafeVariables()...)},
		Approve:         c.bridge.Approve(c.approve),
	})
	if err != nil {
		return err
	}
	c.agent, err = agentproc.Start(ctx, command, &agentproc.Options{
		Stderr: func(line string) { c.printer.print("agent: ", line+"\n") },
		Grace:  time.Second,
	})
	if err != nil {
		return errors.Join(err, c.manager.Close())
	}
	go c.read(in)
	return errors.Join(c.talk(ctx), c.close())
}

// read reads the user's lines.
func (c *client) read(in io.Reader) {
	defer close(c.typed)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		c.typed <- lines.Text()
	}
}

// talk opens a session, and gives the user's prompts to the agent.
func (c *client) talk(ctx context.Context) error {
	c.turn = ctx
	h := acpterm.NewHandler(c.manager, &acpterm.HandlerOptions{Created: c.show})
	rest := jsonrpc2.NewPlainObjectStream(h.Filter(ctx, c.agent))
	c.conn = jsonrpc2.NewConn(ctx, rest, c, jsonrpc2.OnRecv(c.openSession))
	initialize := object{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}
	err := c.conn.Call(ctx, "initialize", initialize, nil)
	if err == nil {
		err = c.conn.Call(ctx, "session/new", object{"cwd": c.dir, "mcpServers": []any{}}, nil)
	}
	if err == nil {
		err = c.notOpened
	}
	for err == nil {
		c.printer.print("* ", "Type a prompt. Ctrl-C stops the agent's turn, and now the client.\n")
		select {
		case text, ok := <-c.typed:
			if !ok {
				return nil
			}
			err = c.prompt(ctx, text)
		case <-c.interrupts:
			return nil
		case <-c.conn.DisconnectNotify():
			return errors.New("the agent has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// openSession opens the session when the agent's answer to session/new arrives. It sees each message before the next one
// is read, so the session is open before the agent can request a terminal in it.
func (c *client) openSession(req *jsonrpc2.Request, answer *jsonrpc2.Response) {
	if req == nil || req.Method != "session/new" || answer == nil || answer.Result == nil {
		return
	}
	var opened struct{ SessionID acpterm.SessionID }
	if c.notOpened = json.Unmarshal(*answer.Result, &opened); c.notOpened == nil {
		c.notOpened = c.manager.OpenSession(opened.SessionID, &acpterm.SessionOptions{Roots: []string{c.dir}})
	}
	c.session = opened.SessionID
}

// prompt gives one prompt to the agent, and returns when its turn has ended. The first interrupt asks the agent to end
// the turn, and a second one does not wait for that.
func (c *client) prompt(ctx context.Context, text string) error {
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.turn = turn
	c.mu.Unlock()
	params := object{"sessionId": c.session, "prompt": []object{{"type": "text", "text": text}}}
	call, err := c.conn.DispatchCall(ctx, "session/prompt", params)
	if err != nil {
		return err
	}
	var answer struct{ StopReason string }
	ended := make(chan error, 1)
	go func() { ended <- call.Wait(ctx, &answer) }()
	select {
	case err = <-ended:
	case <-c.interrupts:
		c.printer.print("* ", "Cancelling. Ctrl-C again does not wait for the agent.\n")
		err = c.conn.Notify(ctx, "session/cancel", object{"sessionId": c.session})
		cancel() // withdraws the questions
		c.bridge.Forget(c.session)
		select {
		case err = <-ended:
		case <-c.interrupts:
			return errors.Join(err, errors.New("interrupted"))
		}
	}
	var refused *jsonrpc2.Error
	switch {
	case errors.As(err, &refused): // the next prompt may succeed
		c.printer.print("* ", refused.Message+"\n")
		return nil
	case err == nil:
		c.printer.print("* ", "The turn has ended: "+answer.StopReason+"\n")
	}
	return err
}

// close ends the agent's commands and then the agent, and waits for their last output.
func (c *client) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	c.manager.Shutdown(ctx)                                   // asks the commands to end
	err := errors.Join(c.manager.Close(), c.agent.Close())    // kills the remaining ones
	if status, unknown := c.agent.Wait(ctx); unknown == nil { // says why a conversation ended too early
		c.printer.print("* ", fmt.Sprintf("The agent: %s\n", status))
	}
	c.printer.commands.Wait()
	return err
}

// Handle gets all messages except terminal/*. Nothing is read from the agent until it returns, so updates stay in order,
// and another goroutine waits for the user's answer.
func (c *client) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if !req.Notif {
		go jsonrpc2.HandlerWithError(c.requestPermission).Handle(ctx, conn, req)
		return
	}
	var n struct {
		Update struct {
			SessionUpdate, Title string
			Content              struct{ Text string } // a tool call's has another form, and stays empty
		}
	}
	params, _ := json.Marshal(req.Params)
	json.Unmarshal(params, &n)
	switch n.Update.SessionUpdate {
	case "agent_message_chunk":
		c.printer.print("> ", display.StripANSI(n.Update.Content.Text))
	case "tool_call":
		c.printer.print("- ", n.Update.Title+"\n")
	}
}
