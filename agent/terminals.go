package agent

// Terminals: a command of a tool call, run and shown in the way that the client has.

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// Terminals runs commands in tool calls, for any kind of client: in the client's terminals where ACP v1 has them, else
// in a Manager of the agent's. Those are shown as ACP v2 does, in v1 by the _meta convention of Zed if the client
// advertises that, and otherwise as text when the command has ended.
//
// It is experimental, as ACP v2 is. All methods may be called concurrently.
type Terminals struct {
	manager  *acpterm.Manager // nil: the agent runs no command itself
	options  TerminalsOptions
	reporter *Reporter
	client   atomic.Pointer[toolClient] // nil before initialize
}

// toolClient is a client, and how it wants commands to be run and shown.
type toolClient struct {
	*Client
	version2 bool
	metaKey  string // for output in _meta; empty: it is not shown so
}

// TerminalsOptions configure Terminals. The zero value, and nil in its place, is good.
type TerminalsOptions struct {
	// ProtocolVersion is what the agent answers initialize with. 0: what the client asks for, and 2 if that is more.
	ProtocolVersion int
	// Client are the options for the client's terminals. Their Grace is also how long Run waits for the client to read
	// what it is told.
	Client ClientOptions
	// Reporter are the options for the agent's own terminals.
	Reporter ReporterOptions
}

// NewTerminals returns Terminals for one connection, which has to be made with its Handler. m runs commands where the
// client does not; if it is nil, a Run fails there with an acpterm.CapabilityError. Nil options are the defaults.
//
// Terminals end with the connection and need no Close. The caller closes the Manager.
func NewTerminals(m *acpterm.Manager, options *TerminalsOptions) *Terminals {
	ts := &Terminals{manager: m}
	if options != nil {
		ts.options = *options
	}
	ts.reporter = NewReporter(&ts.options.Reporter)
	return ts
}

// Handler returns the handler for the connection. It reads the params of initialize, serves terminal/cancel, and passes
// every other message to next, and initialize too. It answers an initialize whose params are not an object with -32602,
// and if next is nil other requests with -32601. Handler does not block while the client reads its answers, so the
// reading goroutine may call it.
func (ts *Terminals) Handler(next jsonrpc2.Handler) jsonrpc2.Handler {
	return ts.reporter.Handler(&initializeHandler{ts, next})
}

type initializeHandler struct {
	terminals *Terminals
	next      jsonrpc2.Handler
}

// Handle is for jsonrpc2.
func (h *initializeHandler) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Method == "initialize" && !req.Notif {
		if err := h.terminals.initialize(conn, req.Params); err != nil {
			conn.ReplyWithError(context.Background(), req.ID, acpterm.ResponseError(err))
			return
		}
	}
	passOn(ctx, conn, req, h.next)
}

// initialize takes the client as the params of its initialize describe it.
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
		capabilities.Terminal = false // a client of both versions has it for v1
	} else {
		c.metaKey = metaOutputKey(capabilities)
	}
	c.Client = NewClient(conn, capabilities, &ts.options.Client)
	ts.client.Store(c)
	return nil
}

// Reporter reports the agent's own terminals, also others than those of Run. The agent calls its Replay for a
// session/resume.
func (ts *Terminals) Reporter() *Reporter { return ts.reporter }

// ToolCall is a tool call that runs one command.
type ToolCall struct {
	// ID is the tool call's id; no other of the session has it.
	ID string
	// Title is what a person reads. Empty: the command.
	Title string
	// Own runs the command in the agent's Manager, also for a client with terminals.
	Own bool
	// Request is the command, and the session of the tool call.
	Request acpterm.CreateTerminalRequest
	// Timeout is how long the command may run. 0: until ctx ends.
	Timeout time.Duration
}

// ToolCallResult is the result of a tool call.
type ToolCallResult struct {
	Result
	// Content is what Run has put into the tool call's content: an item for a terminal or for a text. A Content of the
	// client's own terminal must not be sent again, since that is released.
	Content []json.Marshaler
}

var errNoManager = errors.New("the agent has no Manager for its own commands")

// Run runs a command in a tool call. It announces the tool call, shows the command in it, live where the client can,
// and ends it: as completed if the command has exited with code 0, else as failed, or in v2 as cancelled if ctx has
// ended. The agent sends nothing for it, but may add to it. In all else Run is Client.Run: a command whose time is over
// is killed, the terminal is released, and with an error the result has what is known. If the connection ends, Run ends
// the command, and its error wraps jsonrpc2.ErrClosed.
//
// Before the client's initialize, Run fails with an acpterm.CapabilityError.
//
// Run returns when the client has been sent all of that. For a client that does not read it waits for the time of
// ClientOptions.Grace at the most, which the error then says, and a tool call of which nothing was sent by then is not
// sent any more; the command waits for nothing.
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
