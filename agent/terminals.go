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

// Terminals runs the commands of tool calls for any kind of client. With ACP v1, commands run in the client's terminals
// if it has them. Otherwise, they run in a Manager in the agent. With v2, the latter are shown as ACP v2 specifies.
// With v1, they are shown by Zed's _meta convention if the client advertises it, or else as text once the command has
// exited.
//
// Like ACP v2, Terminals is experimental. It is safe for concurrent use by multiple goroutines.
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
	// Client specifies options for using the client's terminals. Its Grace also limits how long Run waits for the
	// client to read the tool call's updates.
	Client ClientOptions
	// Reporter configures the reporting of the agent's own terminals.
	Reporter ReporterOptions
}

// NewTerminals returns the Terminals of a connection, which must use their Handler. Commands run in m if the client has
// no terminals. If m is nil, Run fails with an acpterm.CapabilityError for such clients, and with acpterm.ErrInternal
// if ToolCall.Own is set. If options is nil, the defaults are used.
//
// Terminals do not need to be closed, as they end with the connection. Closing m remains up to the caller.
func NewTerminals(m *acpterm.Manager, options *TerminalsOptions) *Terminals {
	ts := &Terminals{manager: m}
	if options != nil {
		ts.options = *options
	}
	ts.reporter = NewReporter(&ts.options.Reporter)
	return ts
}

// Handler returns the connection's handler. It serves terminal/cancel, and passes all other messages to next after
// reading the client's capabilities from initialize. If the params of initialize are not an object, it responds with
// -32602. If next is nil, other requests are answered with -32601. The handler does not block if the client is slow to
// read its responses, so it is safe to call it on the goroutine reading from the connection.
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

// Reporter returns the Reporter for the agent's own terminals. Use it to report terminals not created by Run, and to
// call Replay when session/resume resumes a session.
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
	// Timeout is the maximum time the command may run. If zero, it may run until ctx is done.
	Timeout time.Duration
}

// ToolCallResult is the result of Terminals.Run.
type ToolCallResult struct {
	Result
	// Content is the content of the tool call as sent by Run: a single item with either a terminal or text. Do not send
	// a terminal of the client again, since it has already been released.
	Content []json.Marshaler
}

var errNoManager = errors.New("the agent has no Manager for its own commands")

// Run runs a command in a tool call. It announces the tool call, shows the command in it, live if the client supports
// that, and ends it: as completed if the command exits with code 0, as cancelled if ctx is done (v2 only), and as
// failed otherwise. The agent may send further updates of the tool call but does not have to. In all other respects,
// Run is like Client.Run: it kills the command if its timeout expires, it releases the terminal, and if it fails, the
// result holds everything known so far. If the connection ends, Run terminates the command and returns an error
// wrapping jsonrpc2.ErrClosed.
//
// Run returns an acpterm.CapabilityError if the client has not sent initialize yet.
//
// Run returns once everything has been sent to the client. If the client does not read, Run waits for up to
// ClientOptions.Grace and then returns an error. If none of the tool call has been sent by then, none of it will be.
// The command itself never waits for the client.
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
