package main

// This file has a conversation with an agent: its process, its connection with a Handler, and the prompts of its one
// session. updates.go handles the messages that the agent sends by itself.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/cmd/sessionname"
)

const protocolVersion = 1

// agentGrace is how long an agent may take for each step of its shutdown.
const agentGrace = 2 * time.Second

// errAgentEnded is the error of a call cut short by the agent's end. The conversation itself reports how the agent
// ended.
var errAgentEnded = errors.New("the agent has ended")

// Conversation is one agent with one session. All methods are safe for concurrent use.
type Conversation struct {
	editor  *Editor
	stdio   io.ReadWriteCloser // an *agentproc.Process, except in tests
	handler *acpterm.Handler
	conn    *jsonrpc2.Conn
	closing atomic.Bool
	asking  atomic.Int64 // unanswered permission requests
	names   *sessionname.Names

	mu        sync.Mutex
	id        acpterm.SessionID // set by openNewSession
	dir       string
	notOpened error
	turn      *turn
	toolCalls map[string]*ToolCall
	withdraw  func() error // ends what offerTools has offered, or nil
}

// turn is a prompt and the agent's work on it. It outlasts the agent's answer, until the next turn begins.
type turn struct {
	ctx    context.Context // ends when the agent has been told of the cancel
	cancel context.CancelFunc
	sent   chan struct{} // closed when the prompt has been sent to the agent, or could not be
}

func newTurn() *turn {
	t := &turn{sent: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// StartAgent starts an agent and connects to it.
func (e *Editor) StartAgent(ctx context.Context, cmd *exec.Cmd) (*Conversation, error) {
	agent, err := agentproc.Start(ctx, cmd, &agentproc.Options{Stderr: e.ui.Log, Grace: agentGrace})
	if err != nil {
		return nil, err
	}
	return e.Connect(agent), nil
}

// Connect starts a conversation with an agent. The agent's terminals are released when its connection ends.
func (e *Editor) Connect(stdio io.ReadWriteCloser) *Conversation {
	c := &Conversation{editor: e, stdio: stdio, turn: newTurn(), toolCalls: make(map[string]*ToolCall),
		names: sessionname.New(e.nameSession)}
	close(c.turn.sent) // before the first prompt
	e.mu.Lock()
	e.conversations = append(e.conversations, c)
	e.mu.Unlock()
	c.handler = acpterm.NewHandler(e.manager, &acpterm.HandlerOptions{Created: c.show})
	terminals := agentterm.New(c.handler, nil)
	rest := c.handler.Filter(context.Background(), stdio)
	c.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(rest), terminals.Handler(c),
		jsonrpc2.OnRecv(c.openNewSession))
	e.busy.Go(c.awaitEnd)
	return c
}

// Open opens the conversation's session, whose commands run in dir, in the additional directories and below. All are
// absolute paths of existing directories. Open fails if there are additional ones and the agent does not support them.
func (c *Conversation) Open(ctx context.Context, dir string, additional ...string) error {
	initialized, err := c.initialize(ctx, len(additional) > 0)
	if err != nil {
		return err
	}
	c.names.SetProject(dir, initialized, "")
	c.editor.ui.Title(c.names.Name())
	session := newSession{Cwd: dir, AdditionalDirectories: additional}
	if session.MCPServers, err = c.offerTools(session.options(), initialized); err != nil {
		return err
	}
	err = callError("session/new", c.conn.Call(ctx, "session/new", session, nil))
	if err == nil {
		c.mu.Lock()
		err = c.notOpened
		c.mu.Unlock()
	}
	if err != nil {
		err = errors.Join(err, c.withdrawTools(ctx))
	}
	return err
}

// initialize returns the agent's response. It fails if the agent does not support the version of the protocol, or
// additional directories if they are required.
func (c *Conversation) initialize(ctx context.Context, additional bool) (initialized json.RawMessage, err error) {
	capabilities := c.handler.Capabilities()
	agentterm.Advertise(&capabilities)
	initialize := map[string]any{"protocolVersion": protocolVersion, "clientCapabilities": capabilities}
	if err := c.conn.Call(ctx, "initialize", initialize, &initialized); err != nil {
		return nil, callError("initialize", err)
	}
	var agent struct {
		ProtocolVersion   int `json:"protocolVersion"`
		AgentCapabilities struct {
			SessionCapabilities struct {
				AdditionalDirectories *struct{} `json:"additionalDirectories"`
			} `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
	}
	if err := json.Unmarshal(initialized, &agent); err != nil {
		return nil, callError("initialize", err)
	}
	if agent.ProtocolVersion != protocolVersion {
		return nil, fmt.Errorf("the agent speaks version %d of ACP, and not %d", agent.ProtocolVersion, protocolVersion)
	}
	if additional && agent.AgentCapabilities.SessionCapabilities.AdditionalDirectories == nil {
		return nil, errors.New("the agent does not support additional directories")
	}
	return initialized, nil
}

// Prompt begins a turn, so that a later Cancel applies to this turn. The returned function sends the prompt. It returns
// the agent's stop reason when the turn has ended.
func (c *Conversation) Prompt(text string) func(context.Context) (stopReason string, err error) {
	t := newTurn()
	c.mu.Lock()
	c.turn.cancel() // withdraws the questions of the previous turn
	c.turn = t
	id := c.id
	c.mu.Unlock()
	return func(ctx context.Context) (string, error) {
		const method = "session/prompt"
		waiting, err := c.conn.DispatchCall(ctx, method, map[string]any{
			"sessionId": id,
			"prompt":    []map[string]string{{"type": "text", "text": text}},
		})
		close(t.sent)
		if err != nil {
			return "", callError(method, err)
		}
		var answer struct {
			StopReason string `json:"stopReason"`
		}
		err = waiting.Wait(ctx, &answer)
		return answer.StopReason, callError(method, err)
	}
}

// Cancel asks the agent to end the turn, and then withdraws the agent's questions. The agent hears of the cancel first,
// so it does not take the withdrawal for an answer. Cancel does not block.
func (c *Conversation) Cancel() {
	c.mu.Lock()
	t, id := c.turn, c.id
	c.mu.Unlock()
	c.editor.busy.Go(func() {
		select {
		case <-t.sent: // without the prompt, an agent would not know which turn is meant
		case <-c.conn.DisconnectNotify():
		}
		c.conn.Notify(context.Background(), "session/cancel", map[string]any{"sessionId": id})
		t.cancel()
		c.editor.bridge.Forget(id)
	})
}

// Close ends the conversation: its commands, its approvals, its panes, and the agent.
func (c *Conversation) Close(ctx context.Context) error {
	id := c.session()
	withdrawn := make(chan error, 1)
	c.editor.busy.Go(func() { withdrawn <- c.withdrawTools(ctx) })
	err := errors.Join(c.editor.manager.CloseSession(ctx, id), <-withdrawn, c.end(ctx))
	c.editor.forget(c)
	return err
}

// end ends the agent.
func (c *Conversation) end(ctx context.Context) error {
	c.closing.Store(true)
	c.mu.Lock()
	c.turn.cancel()
	c.mu.Unlock()
	c.editor.bridge.Forget(c.session())
	var err error
	if agent, ok := c.stdio.(*agentproc.Process); ok {
		defer context.AfterFunc(ctx, func() { agent.Kill() })()
		err = agent.Close()
	}
	c.conn.Close()
	return err
}

// awaitEnd tells the user how the agent has ended, unless the editor has ended it.
func (c *Conversation) awaitEnd() {
	<-c.conn.DisconnectNotify()
	defer c.withdrawTools(context.Background()) // over HTTP, nothing else ends the sessions of a killed agent
	agent, isProcess := c.stdio.(*agentproc.Process)
	if c.closing.Load() || !isProcess {
		return
	}
	agent.Close() // after this, Log has the agent's last line
	status, err := agent.Wait(context.Background())
	how := status.String()
	if err != nil {
		how = err.Error()
	}
	c.editor.ui.Say(theEditor, "The agent has ended: "+how)
}

func (c *Conversation) session() acpterm.SessionID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// callError makes the error of a call readable for the user.
func callError(method string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsonrpc2.ErrClosed), errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EPIPE):
		return errAgentEnded
	}
	return fmt.Errorf("%s: %w", method, err)
}
