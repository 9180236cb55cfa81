package acptermtest

// NewAgent plays an agent's turns, and Connect connects an agent's client to a handler.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/wire"
	"github.com/sourcegraph/jsonrpc2"
)

// A Turn represents a prompt that the agent is answering. Its methods may be called concurrently, but its fields must
// not be modified.
type Turn struct {
	SessionID acpterm.SessionID
	// Cwd is the working directory of the session, as passed to session/new.
	Cwd string
	// Prompt is the text of the prompt's content blocks, joined by newlines.
	Prompt string
	// Terminals calls the client's terminal methods, if the client advertised them.
	Terminals *agent.Client
	// Conn is the connection to the client, which can be used to send other requests.
	Conn *jsonrpc2.Conn

	ctx context.Context
}

// Context returns the context of the turn, which is cancelled by session/cancel or when the connection is closed.
func (t *Turn) Context() context.Context { return t.ctx }

// Command returns a request to run a command in the session and working directory of the turn.
func (t *Turn) Command(program string, args ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: t.SessionID, Command: program, Args: args, Cwd: t.Cwd}
}

// Say sends a session/update containing a chunk of the agent's message. It returns an error if the connection is
// closed.
func (t *Turn) Say(text string) error {
	return t.Update(map[string]any{
		"sessionUpdate": "agent_message_chunk",
		"content":       map[string]string{"type": "text", "text": text},
	})
}

// Update sends a session/update with an arbitrary update.
func (t *Turn) Update(update any) error {
	params := map[string]any{"sessionId": t.SessionID, "update": update}
	return t.Conn.Notify(context.WithoutCancel(t.ctx), "session/update", params)
}

// NewAgent creates an in-memory connection to a simulated agent and returns the client's end of the connection, which
// can be used instead of the standard input and output of a real agent. The simulated agent responds to initialize and
// session/new, and calls turn in a new goroutine for each session/prompt. If earlier lists sessions, such as those of
// an agent that has ended, it advertises loadSession, and session/load and session/resume continue these sessions.
//
// Once turn has returned, the agent responds to the prompt with the stop reason "cancelled" if the turn was cancelled,
// with the error if turn returned one, or otherwise with the stop reason "end_turn". If turn exits its goroutine
// without returning, for example by calling t.Fatal, the agent responds with an error. Calls to any other method fail
// with -32601.
//
// When the test ends, the agent closes the connection, cancels all turns, and waits for them to return. The test fails
// if the agent has received a malformed line.
func NewAgent(t testing.TB, turn func(*Turn) error, earlier ...acpterm.SessionID) io.ReadWriteCloser {
	client, own := net.Pipe()
	a := &scriptedAgent{
		turn:     turn,
		earlier:  earlier,
		sessions: make(map[acpterm.SessionID]string),
		running:  make(map[acpterm.SessionID]context.CancelFunc),
	}
	skipped := func(text []byte, size int64, f *wire.Fault) {
		t.Errorf("acptermtest: the agent got a line of %d bytes that is no message, it %s: %.1000q",
			size, f.Reason, text)
	}
	lines := wire.NewLines(own, 64<<20, skipped, func(f *wire.Fault) *jsonrpc2.Error {
		return &jsonrpc2.Error{Code: f.Code, Message: "the line " + f.Reason}
	})
	stream := &readStream{lines, make(chan struct{})}
	ctx, end := context.WithCancel(context.Background())
	conn := jsonrpc2.NewConn(ctx, stream, a)
	t.Cleanup(func() {
		client.Close()
		<-stream.ended // all lines have been read, so skipped is not called any more
		conn.Close()
		end()
		a.turns.Wait()
	})
	return client
}

// readStream is an ObjectStream that signals the end of the input.
type readStream struct {
	jsonrpc2.ObjectStream
	ended chan struct{} // closed when ReadObject fails; jsonrpc2 does not call it again
}

func (s *readStream) ReadObject(v any) error {
	err := s.ObjectStream.ReadObject(v)
	if err != nil {
		close(s.ended)
	}
	return err
}

// scriptedAgent is the agent's jsonrpc2.Handler.
type scriptedAgent struct {
	turn    func(*Turn) error
	earlier []acpterm.SessionID
	turns   sync.WaitGroup

	mu           sync.Mutex
	capabilities acpterm.ClientCapabilities
	sessions     map[acpterm.SessionID]string             // working directories
	running      map[acpterm.SessionID]context.CancelFunc // cancel the turns in progress
}

// Handle is called sequentially and must not block.
func (a *scriptedAgent) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params struct {
		SessionID acpterm.SessionID `json:"sessionId"`
		Cwd       string            `json:"cwd"`
		Prompt    []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	var raw json.RawMessage
	if req.Params != nil {
		raw = *req.Params
	}
	err := json.Unmarshal(raw, &params)
	switch {
	case req.Notif && req.Method == "session/cancel":
		a.cancel(params.SessionID)
	case req.Notif:
	case !slices.Contains(a.methods(), req.Method):
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{
			Code: jsonrpc2.CodeMethodNotFound, Message: "no method " + req.Method,
		})
	case err != nil:
		conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()})
	case req.Method == "initialize":
		a.initialize(ctx, conn, req, raw)
	case req.Method == "session/new":
		a.mu.Lock()
		id, used := acpterm.SessionID(""), true
		for n := len(a.sessions) + 1; used; n++ {
			id = acpterm.SessionID(fmt.Sprintf("session-%d", n))
			_, known := a.sessions[id]
			used = known || slices.Contains(a.earlier, id)
		}
		a.sessions[id] = params.Cwd
		a.mu.Unlock()
		conn.Reply(ctx, req.ID, map[string]any{"sessionId": id})
	case req.Method != "session/prompt":
		a.load(ctx, conn, req.ID, params.SessionID, params.Cwd)
	default:
		var lines []string
		for _, block := range params.Prompt {
			lines = append(lines, block.Text)
		}
		a.prompt(ctx, conn, req.ID, &Turn{SessionID: params.SessionID, Prompt: strings.Join(lines, "\n"), Conn: conn})
	}
}

// methods returns the methods of the requests that the agent responds to.
func (a *scriptedAgent) methods() []string {
	all := []string{"initialize", "session/new", "session/prompt"}
	if len(a.earlier) > 0 {
		all = append(all, "session/load", "session/resume")
	}
	return all
}

// load continues an earlier session.
func (a *scriptedAgent) load(
	ctx context.Context, conn *jsonrpc2.Conn, id jsonrpc2.ID, session acpterm.SessionID, dir string,
) {
	if !slices.Contains(a.earlier, session) {
		conn.ReplyWithError(ctx, id, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams,
			Message: fmt.Sprintf("session %q is unknown", session)})
		return
	}
	a.mu.Lock()
	a.sessions[session] = dir
	a.mu.Unlock()
	conn.Reply(ctx, id, struct{}{})
}

// cancel cancels the turn of a session, if it has one.
func (a *scriptedAgent) cancel(session acpterm.SessionID) {
	a.mu.Lock()
	cancel := a.running[session]
	a.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (a *scriptedAgent) initialize(
	ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request, params json.RawMessage,
) {
	capabilities, err := agent.ReadClientCapabilities(params)
	if err != nil {
		conn.ReplyWithError(ctx, req.ID, acpterm.ResponseError(err))
		return
	}
	a.mu.Lock()
	a.capabilities = capabilities
	a.mu.Unlock()
	can := make(map[string]any)
	if len(a.earlier) > 0 {
		can["loadSession"], can["sessionCapabilities"] = true, map[string]any{"resume": struct{}{}}
	}
	conn.Reply(ctx, req.ID, map[string]any{"protocolVersion": 1, "agentCapabilities": can})
}

// prompt starts a turn in a goroutine.
func (a *scriptedAgent) prompt(ctx context.Context, conn *jsonrpc2.Conn, id jsonrpc2.ID, turn *Turn) {
	ctx, cancel := context.WithCancel(ctx)
	turn.ctx = ctx
	a.mu.Lock()
	dir, known := a.sessions[turn.SessionID]
	busy := a.running[turn.SessionID] != nil
	turn.Cwd = dir
	turn.Terminals = agent.NewClient(conn, a.capabilities, nil)
	if known && !busy {
		a.running[turn.SessionID] = cancel
	}
	a.mu.Unlock()
	if !known || busy {
		cancel()
		conn.ReplyWithError(ctx, id, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams,
			Message: fmt.Sprintf("session %q is unknown or has a turn in progress", turn.SessionID)})
		return
	}
	a.turns.Go(func() {
		defer cancel()
		err := errNoReturn
		defer func() { // also runs after t.Fatal, which ends the goroutine
			if p := recover(); p != nil {
				panic(p)
			}
			a.mu.Lock()
			delete(a.running, turn.SessionID)
			a.mu.Unlock()
			switch {
			case ctx.Err() != nil && err != errNoReturn:
				conn.Reply(context.Background(), id, map[string]string{"stopReason": "cancelled"})
			case err != nil:
				conn.ReplyWithError(context.Background(), id, acpterm.ResponseError(err))
			default:
				conn.Reply(ctx, id, map[string]string{"stopReason": "end_turn"})
			}
		}()
		err = a.turn(turn)
	})
}

// errNoReturn is the answer to a prompt if its turn ended the goroutine.
var errNoReturn = errors.New("the turn did not return: it called t.FailNow, t.SkipNow or runtime.Goexit")

// Connect returns a new Client for testing the options of a handler. The Client is connected to h in memory. The
// handler and the connection are closed automatically at the end of the test.
func Connect(t testing.TB, h *acpterm.Handler) *agent.Client {
	client, own := net.Pipe()
	rest := h.Filter(context.Background(), client)
	serving := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(rest), h)
	calling := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(own), nil)
	t.Cleanup(func() {
		calling.Close()
		serving.Close()
		<-serving.DisconnectNotify()
		if err := h.Close(); err != nil {
			t.Errorf("acptermtest: the handler's Close: %v", err)
		}
	})
	return agent.NewClient(calling, h.Capabilities(), nil)
}
