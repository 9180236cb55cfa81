package agent

// Terminals: a command of a tool call, run and shown in the way that the client has.

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// Terminals runs commands in tool calls, whatever the client can do: in the client's terminals where ACP v1 has them,
// else in a Manager of the agent's. Those are shown as ACP v2 does, in v1 by the _meta convention of Zed if the client
// advertises that, and otherwise as text when the command has ended.
//
// It is experimental, as ACP v2 is. All methods may be called concurrently.
type Terminals struct {
	manager  *acpterm.Manager // nil if the client runs the commands
	client   *Client
	reporter *Reporter
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

// NewTerminals returns Terminals for a connection, with the params of its initialize request. m runs commands where the
// client does not; nil: none does, and then a Run fails with an acpterm.CapabilityError. It fails with an
// *acpterm.Error of kind ErrInvalidParams for params that are no object. Nil options are the defaults.
//
// It ends with the connection, and has nothing to close; the Manager is the caller's to close. The handler of
// initialize may call it.
func NewTerminals(
	conn *jsonrpc2.Conn, initialize json.RawMessage, m *acpterm.Manager, options *TerminalsOptions,
) (*Terminals, error) {
	capabilities, err := acpterm.ReadClientCapabilities(initialize)
	if err != nil {
		return nil, err
	}
	o := cmp.Or(options, &TerminalsOptions{})
	version := o.ProtocolVersion
	if asked := lenient[int](readMembers(&initialize), "protocolVersion"); version == 0 && asked != nil {
		version = *asked
	}
	ts := &Terminals{manager: m, version2: version >= 2}
	if ts.version2 {
		capabilities.Terminal = false // what a client of both versions says for v1
	} else {
		ts.metaKey = metaOutputKey(capabilities)
	}
	if capabilities.Terminal {
		ts.manager = nil
	}
	ts.client = NewClient(conn, capabilities, &o.Client)
	ts.reporter = NewReporter(func(ctx context.Context, method string, params any) error {
		return conn.Notify(ctx, method, params)
	}, &o.Reporter)
	go func() {
		<-conn.DisconnectNotify()
		ts.reporter.Close()
	}()
	return ts, nil
}

// Reporter is what reports the agent's own terminals. The agent's handler gives it terminal/cancel requests
// (Reporter.Handler), which a client of v2 sends, and calls Reporter.Replay for a session/resume.
func (ts *Terminals) Reporter() *Reporter { return ts.reporter }

// ToolCall is a tool call that runs one command.
type ToolCall struct {
	// ID is the tool call's id; no other of the session has it.
	ID string
	// Title is what a person reads. Empty: the command.
	Title string
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

// Run runs a command in a tool call. It announces the tool call, shows the command in it, live where the client can,
// and ends it: as completed if the command has exited with code 0, else as failed, or in v2 as cancelled if ctx has
// ended. The agent sends nothing for it, but may add to it. In all else Run is Client.Run: a command whose time is over
// is killed, the terminal is released, and with an error the result has what is known. If the connection ends, Run ends
// the command and returns an error for which errors.Is reports jsonrpc2.ErrClosed.
//
// Run returns when the client has been sent all of that. For a client that does not read it waits for the time of
// ClientOptions.Grace at the most, which the error then says, and a tool call of which nothing was sent by then is not
// sent any more; the command waits for nothing.
func (ts *Terminals) Run(ctx context.Context, call ToolCall) (result ToolCallResult, err error) {
	s := shown{Terminals: ts, call: call}
	if ts.manager == nil {
		if err := ts.client.require(acpterm.MethodCreate); err != nil {
			return result, err
		}
	}
	s.announce()
	defer func() { err = joinErrors(err, s.finish(ctx, &result, err)) }()
	if ts.manager == nil {
		options := RunOptions{Timeout: call.Timeout, Created: func(t *Terminal) {
			result.Content = []json.Marshaler{t.Content()}
			update := s.update()
			update.Content = result.Content
			s.tell(ctx, update) // before the release; finish reports a failure
		}}
		result.Result, err = ts.client.Run(ctx, call.Request, options)
		return result, err
	}
	err = s.runHere(ctx, &result)
	return result, err
}
