package agent

// Terminals: commands of tool calls, run and shown in a way that the client supports.

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// Terminals runs the commands of tool calls for any kind of client. If the client uses ACP v1 and supports terminals,
// commands run in the client's terminals. Otherwise, commands run in a Manager in the agent, and the way they are shown
// depends on the client. If the client uses v2, commands are shown as specified by ACP v2. If the client uses v1, they
// are shown using Zed's _meta convention if the client advertises it, or as text after the command has exited if it
// does not.
//
// Like ACP v2 itself, Terminals is experimental. It is safe for concurrent use by multiple goroutines.
type Terminals struct {
	manager  *acpterm.Manager // nil if the agent itself does not run commands
	options  TerminalsOptions
	reporter *Reporter
	client   atomic.Pointer[toolClient] // nil before initialize
}

// toolClient is a client, and its way to run and show commands.
type toolClient struct {
	*Client
	version2 bool
	metaKey  string // the key for output in _meta, or empty if the client does not use one
}

// TerminalsOptions specifies optional settings for Terminals. The zero value is ready to use.
type TerminalsOptions struct {
	// ProtocolVersion is the version that the agent returned from initialize. If zero, the version requested by the
	// client is used, up to version 2.
	ProtocolVersion int
	// Client specifies options for using the client's terminals. The Grace field also limits how long Run waits for the
	// client to read the updates for the tool call.
	Client ClientOptions
	// Reporter specifies options for reporting the agent's own terminals.
	Reporter ReporterOptions
}

// NewTerminals returns the Terminals of a connection. The connection must be configured to use the Terminals' Handler.
// If the client does not provide terminals, commands run in m instead. If m is nil, Run returns an
// acpterm.CapabilityError for clients that do not provide terminals, and acpterm.ErrInternal if ToolCall.Own is set. If
// options is nil, the defaults are used.
//
// A Terminals does not need to be closed, since it ends when the connection does. However, the caller remains
// responsible for closing m.
func NewTerminals(m *acpterm.Manager, options *TerminalsOptions) *Terminals {
	ts := &Terminals{manager: m}
	if options != nil {
		ts.options = *options
	}
	ts.reporter = NewReporter(&ts.options.Reporter)
	return ts
}

// Handler returns the handler for the connection. The handler serves terminal/cancel itself and passes all other
// messages to next. Before passing on initialize, it reads the client's capabilities from the params. If the params are
// not an object, it responds with -32602 instead. If next is nil, all other requests fail with -32601. The handler does
// not block while serving terminal/cancel, even if the client is slow to read responses (see Reporter.Cancel for the
// limit), so it is safe to call it on the goroutine that reads from the connection.
func (ts *Terminals) Handler(next jsonrpc2.Handler) jsonrpc2.Handler {
	return ts.reporter.Handler(&initializeHandler{ts, next})
}

type initializeHandler struct {
	terminals *Terminals
	next      jsonrpc2.Handler
}

// Handle implements jsonrpc2.Handler.
func (h *initializeHandler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Method == "initialize" && !req.Notif {
		if err := h.terminals.initialize(conn, req.Params); err != nil {
			conn.ReplyWithError(context.Background(), req.ID, acpterm.ResponseError(err))
			return
		}
	}
	passOn(ctx, conn, req, h.next)
}

// initialize sets the client from the params of its initialize request.
func (ts *Terminals) initialize(conn *jsonrpc2.Conn, params *json.RawMessage) error {
	var raw json.RawMessage
	if params != nil {
		raw = *params
	}
	capabilities, err := ReadClientCapabilities(raw)
	if err != nil {
		return err
	}
	version := ts.options.ProtocolVersion
	if asked := lenient[int](readMembers(&raw), "protocolVersion"); version == 0 && asked != nil {
		version = *asked
	}
	c := &toolClient{version2: version >= 2}
	if c.version2 {
		capabilities.Terminal = false // a client of both versions sets it for v1
	} else {
		c.metaKey = metaOutputKey(capabilities)
	}
	c.Client = NewClient(conn, capabilities, &ts.options.Client)
	ts.client.Store(c)
	return nil
}

// Reporter returns the Reporter for the agent's own terminals. It can be used to report terminals that Run did not
// create, and its Replay method should be called when session/resume resumes a session.
func (ts *Terminals) Reporter() *Reporter { return ts.reporter }

// A ToolCall describes a tool call that runs a single command.
type ToolCall struct {
	// ID identifies the tool call. It must be unique within the session.
	ID string
	// Title is shown to the user. It defaults to the command.
	Title string
	// Own forces the command to run in the agent's Manager, even if the client supports terminals.
	Own bool
	// Request specifies the command and its session.
	Request acpterm.CreateTerminalRequest
	// Timeout is the maximum amount of time that the command may run. If zero, the command may run until ctx is done.
	Timeout time.Duration
}

// ToolCallResult is the result of Terminals.Run.
type ToolCallResult struct {
	Result
	// Content is the content of the tool call, as sent by Run. It consists of a single item, which is either a terminal
	// or text. If the item is a terminal of the client, do not send it again, because the terminal has already been
	// released.
	Content []json.Marshaler
}

var errNoManager = errors.New("the agent has no Manager for its own commands")

// Run runs a command and reports it as a tool call. It first announces the tool call and then shows the command in it,
// with live updates if the client supports them. When the command ends, the tool call is marked as completed if the
// command exited with code 0, as cancelled if ctx is done (v2 only), or as failed otherwise. The agent may, but need
// not, send additional updates for the tool call.
//
// In all other respects, Run behaves like Client.Run: it kills the command if the timeout expires, it releases the
// terminal, and if it fails, the result contains the information available when the failure occurred. If the connection
// ends, Run terminates the command and returns an error wrapping jsonrpc2.ErrClosed. If the client has not yet sent
// initialize, Run returns an acpterm.CapabilityError.
//
// Run returns once everything has been sent to the client. If the client is not reading its input, Run waits for up to
// ClientOptions.Grace and then returns an error. If no part of the tool call has been sent by then, none of it will be
// sent at all. The command itself never waits for the client.
func (ts *Terminals) Run(ctx context.Context, call ToolCall) (result ToolCallResult, err error) {
	client := ts.client.Load()
	if client == nil {
		return result, new(Client).require(acpterm.MethodCreate) // it has no capabilities yet
	}
	s := shown{toolClient: client, reporter: ts.reporter, call: call}
	if call.Own || !client.capabilities.Terminal {
		s.manager = ts.manager
	}
	switch {
	case s.manager != nil:
	case call.Own:
		return result, &Error{Method: acpterm.MethodCreate, Kind: acpterm.ErrInternal, Err: errNoManager}
	default:
		if err := client.require(acpterm.MethodCreate); err != nil {
			return result, err
		}
	}
	s.announce()
	defer func() { err = joinErrors(err, s.finish(ctx, &result, err)) }()
	if s.manager == nil {
		options := RunOptions{Timeout: call.Timeout, Created: func(t *Terminal) {
			result.Content = []json.Marshaler{t.Content()}
			update := s.update()
			update.Content = result.Content
			s.tell(ctx, update) // before the release; finish reports a failure
		}}
		result.Result, err = client.Run(ctx, call.Request, options)
		return result, err
	}
	err = s.runHere(ctx, &result)
	return result, err
}
