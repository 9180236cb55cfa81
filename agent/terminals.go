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

// Terminals runs commands in tool calls, for any kind of client. In ACP v1, it uses the client's terminals if the
// client has them. Otherwise, commands run in a Manager of the agent. In v2, they are shown as ACP v2 specifies. In v1,
// they are shown by the _meta convention of Zed if the client advertises it, or else as text once the command has
// ended.
//
// Terminals is experimental, like ACP v2. It is safe for concurrent use by multiple goroutines.
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

// TerminalsOptions configure Terminals. The zero value is ready to use.
type TerminalsOptions struct {
	// ProtocolVersion is the version in the agent's response to initialize. If 0, the version requested by the client
	// is used, up to 2.
	ProtocolVersion int
	// Client holds the options for the client's terminals. Its Grace also limits how long Run waits for the client to
	// read the updates of the tool call.
	Client ClientOptions
	// Reporter holds the options for the agent's own terminals.
	Reporter ReporterOptions
}

// NewTerminals returns the Terminals of a connection, which must use its Handler. m runs the commands of clients
// without terminals. If m is nil, Run fails for such clients with an acpterm.CapabilityError, and for a ToolCall with
// Own set with acpterm.ErrInternal. If options is nil, the defaults are used.
//
// The Terminals end with the connection and do not need to be closed. The caller remains responsible for closing m.
func NewTerminals(m *acpterm.Manager, options *TerminalsOptions) *Terminals {
	ts := &Terminals{manager: m}
	if options != nil {
		ts.options = *options
	}
	ts.reporter = NewReporter(&ts.options.Reporter)
	return ts
}

// Handler returns the handler for the connection. It reads the params of initialize, serves terminal/cancel and passes
// all other messages, and initialize itself, to next. If the params of initialize are not an object, it answers with
// -32602. If next is nil, it answers other requests with -32601. The handler does not block while the client is slow to
// read its answers, so it can be called on the goroutine reading from the connection.
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

// Reporter returns the Reporter of the agent's own terminals. It can also be used to report terminals not created by
// Run. On session/resume, the agent should call its Replay method.
func (ts *Terminals) Reporter() *Reporter { return ts.reporter }

// ToolCall describes a tool call running a single command.
type ToolCall struct {
	// ID is the id of the tool call. It must be unique in the session.
	ID string
	// Title is shown to the user. The default is the command.
	Title string
	// Own runs the command in the agent's Manager, even if the client has terminals.
	Own bool
	// Request specifies the command and the session.
	Request acpterm.CreateTerminalRequest
	// Timeout is the maximum run time of the command. If 0, the command may run until ctx is done.
	Timeout time.Duration
}

// ToolCallResult is the result of a tool call.
type ToolCallResult struct {
	Result
	// Content is the content of the tool call as sent by Run: a single item with a terminal or text. An item with a
	// terminal of the client should not be sent again, because the terminal has been released.
	Content []json.Marshaler
}

var errNoManager = errors.New("the agent has no Manager for its own commands")

// Run runs a command in a tool call. It announces the tool call, shows the command in it (live, if the client supports
// that) and ends it. The tool call ends as completed if the command exits with code 0, as cancelled if ctx is done (v2
// only), and otherwise as failed. The agent does not need to send any updates for the tool call, but may send more.
// Otherwise, Run is like Client.Run: it kills the command after its timeout and releases the terminal, and if it fails,
// the result holds everything known so far. If the connection ends, Run ends the command and returns an error wrapping
// jsonrpc2.ErrClosed.
//
// If the client has not sent initialize yet, Run returns an acpterm.CapabilityError.
//
// Run returns once everything has been sent to the client. If the client does not read, Run waits for up to
// ClientOptions.Grace and then returns an error. If no part of the tool call has been sent by then, none will be sent.
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
