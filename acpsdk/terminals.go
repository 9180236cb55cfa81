package acpsdk

// The five terminal methods. Each passes its request as JSON to an acpterm.Handler, which validates it.

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	acp "github.com/coder/acp-go-sdk"
)

// Options specifies optional settings for Terminals. The zero value is ready to use and equivalent to a nil *Options.
type Options struct {
	// Created, if non-nil, is called with each terminal created by the agent, before the agent receives the terminal's
	// ID. Typically, it starts a goroutine that uses Terminal.Follow to display the output. The response to the create
	// request is not sent until Created returns. Calls for different requests may be concurrent.
	Created func(*acpterm.Terminal)

	// NewSession, if non-nil, is called when the agent responds to session/new or session/fork. No other message is
	// read until NewSession returns, so this is the place to call Manager.OpenSession if
	// acpterm.Options.RequireSessions is set. For session/load and session/resume, the ID is known in advance, so the
	// session should be opened before the request is sent. NewSession is only called for connections made by Connect.
	NewSession func(Session)

	// AgentTerminals specifies whether commands run by the agent itself are shown as well, as in package agentterm. If
	// true, Created is also called for each of these terminals, and the next message from the agent is not read until
	// it returns. This requires a connection made by Connect and a client that advertises ClientCapabilities. For these
	// terminals, Terminal.Kill always returns acpterm.ErrNotCancellable, because agents can allow a terminal to be
	// cancelled only in v2, and the SDK does not support v2. The default is false.
	AgentTerminals bool

	// TerminalAuth makes ClientCapabilities inform the agent that users can sign in to the agent from within a terminal,
	// for example by using signin.Run.
	TerminalAuth bool

	// KeepOnClose is acpterm.HandlerOptions.KeepOnClose. It is how long terminals are kept after CloseTerminals, so that
	// TakeOver can continue them. If zero or negative, CloseTerminals releases them.
	KeepOnClose time.Duration

	// SessionPrefix is acpterm.HandlerOptions.SessionPrefix. It is used to distinguish the sessions of different
	// connections that share a manager.
	SessionPrefix acpterm.SessionID

	// MaxLineBytes is the maximum length, including the newline, of a line that the agent can read. Of this, 4 KiB is
	// reserved for the rest of the line. If the output does not fit in the remaining space, it is truncated at the
	// beginning. If zero, MaxLineBytes defaults to 10 MiB, which is the limit for agents built with the SDK. Regardless
	// of MaxLineBytes, no line is longer than 32 MiB.
	MaxLineBytes int
}

func (o *Options) maxLineBytes() int { return cmp.Or(o.MaxLineBytes, maxSDKLine) }

// Terminals holds the terminals of a connection. To use it, create a Terminals with New and embed it in the client's
// type. A nil *Terminals and the zero value are both valid and provide no terminals: the capability is false, and each
// method fails as if it had not been advertised.
//
// A Terminals is safe for concurrent use by multiple goroutines. Errors returned by the five ACP methods are of type
// *acp.RequestError, and the SDK sends them unchanged. Cause returns the error behind such an error. The data of each
// error contains acpterm's kind of error, and the code is one of the following:
//
//   - -32602 if the request is malformed or impossible, or if the command is denied by the policy;
//   - -32002 if the terminal is unknown in the session, or if the command does not exist;
//   - -32800 if ctx is done before the request has been served, if a quota is exceeded, or if CloseTerminals or the
//     manager's Close method has been called;
//   - -32601 if terminals are not provided;
//   - -32603 for any other error, such as a process that survived a kill or a system call that failed.
//
// The context passed to a method applies only to the request and never affects the command.
type Terminals struct {
	manager *acpterm.Manager
	handler *acpterm.Handler     // nil without terminals
	agents  *agentterm.Terminals // nil without Options.AgentTerminals
	options Options
}

// New returns a new Terminals for a connection. Commands are run by m, which may be shared by several connections.
func New(m *acpterm.Manager, options *Options) *Terminals {
	if options == nil {
		options = new(Options)
	}
	t := &Terminals{
		manager: m,
		handler: acpterm.NewHandler(m, &acpterm.HandlerOptions{
			Created: options.Created, SessionPrefix: options.SessionPrefix, KeepOnClose: options.KeepOnClose,
			Capabilities: &acpterm.ClientCapabilities{
				Terminal: true, Auth: acpterm.AuthCapabilities{Terminal: options.TerminalAuth},
			},
		}),
		options: *options,
	}
	if options.AgentTerminals {
		t.agents = agentterm.New(t.handler, nil)
	}
	return t
}

// TerminalCapability returns the value of ClientCapabilities.Terminal for the InitializeRequest.
func (t *Terminals) TerminalCapability() bool { return t != nil && t.handler != nil }

// ClientCapabilities returns the capabilities to send in the InitializeRequest. The returned capabilities advertise
// terminals and, if Options.TerminalAuth is set, sign-in in a terminal. If Options.AgentTerminals is set, the _meta of
// the capabilities also asks the agent to show any commands that the agent itself runs. Callers may add other
// capabilities as needed.
func (t *Terminals) ClientCapabilities() acp.ClientCapabilities {
	if !t.TerminalCapability() {
		return acp.ClientCapabilities{}
	}
	c := t.handler.Capabilities()
	if t.agents != nil {
		agentterm.Advertise(&c)
	}
	return acp.ClientCapabilities{
		Terminal: c.Terminal, Meta: metaOf(c.Meta),
		Auth: acp.AuthCapabilities{Terminal: c.Auth.Terminal, Meta: metaOf(c.Auth.Meta)},
	}
}

// TakeOver takes over the terminals of a session that an earlier Terminals has kept because of Options.KeepOnClose, like
// acpterm.Handler.TakeOver. Call it before LoadSession or ResumeSession.
func (t *Terminals) TakeOver(session acp.SessionId) []*acpterm.Terminal {
	if !t.TerminalCapability() {
		return nil
	}
	return t.handler.TakeOver(acpterm.SessionID(session))
}

// CloseTerminals releases all terminals of the connection, except those kept because of Options.KeepOnClose, waits for
// their process trees to exit, and returns the joined errors. Any pending create request fails without leaving any processes behind, and new create requests are
// rejected. If ctx is done first, CloseTerminals returns an error of kind acpterm.ErrCancelled, but the releases continue
// in the background. Subsequent calls also wait.
//
// Because the SDK does not notify clients when a connection is closed, callers should call CloseTerminals when
// disconnecting, and also when the Done channel of the acp.ClientSideConnection is closed.
func (t *Terminals) CloseTerminals(ctx context.Context) error {
	if !t.TerminalCapability() {
		return nil
	}
	closed := make(chan error, 1)
	go func() { closed <- t.handler.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return &acpterm.Error{Op: "close terminals", Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)}
	}
}

// CreateTerminal starts a command and returns once the command is running. If ctx is done before CreateTerminal
// returns, no process is left behind.
func (t *Terminals) CreateTerminal(
	ctx context.Context, req acp.CreateTerminalRequest,
) (acp.CreateTerminalResponse, error) {
	created, err := t.create(ctx, req)
	if err != nil {
		return acp.CreateTerminalResponse{}, err
	}
	return acp.CreateTerminalResponse{TerminalId: string(created.TerminalID), Meta: metaOf(created.Meta)}, nil
}

func (t *Terminals) create(
	ctx context.Context, req acp.CreateTerminalRequest,
) (created acpterm.CreateTerminalResponse, err error) {
	created, err = dispatch[acpterm.CreateTerminalResponse](ctx, t, acpterm.MethodCreate, req.SessionId, req)
	if err != nil || ctx.Err() == nil {
		return created, err
	}
	// The request was cancelled after the start, so the agent never receives the terminal's id.
	cancelled := t.requestError(&acpterm.Error{Op: "create", Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)})
	session := t.options.SessionPrefix + acpterm.SessionID(req.SessionId)
	t.manager.Release(context.WithoutCancel(ctx), session, created.TerminalID) // even if the handler has kept it
	return created, cancelled
}

// TerminalOutput returns the current output, along with the exit status if the command has exited. If the response
// would exceed Options.MaxLineBytes, TerminalOutput first drops the head, if the agent requested one (see Head in
// package agent), and then shortens the output if necessary.
func (t *Terminals) TerminalOutput(
	ctx context.Context, req acp.TerminalOutputRequest,
) (acp.TerminalOutputResponse, error) {
	out, err := dispatch[acpterm.TerminalOutputResponse](ctx, t, acpterm.MethodOutput, req.SessionId, req)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	room := t.maxEncoded() - len(out.Meta["acpterm"])
	text := fit(out.Output, room)
	if room < 0 || len(text) < len(out.Output) { // the head does not fit; its outputStart is that of the whole output
		text, out.Meta = fit(out.Output, t.maxEncoded()), nil
	}
	answer := acp.TerminalOutputResponse{
		Output: text, Truncated: out.Truncated || len(text) < len(out.Output), Meta: metaOf(out.Meta),
	}
	if out.ExitStatus != nil {
		status := exitStatusOf(*out.ExitStatus)
		answer.ExitStatus = &status
	}
	return answer, nil
}

// WaitForTerminalExit waits for the command to exit and returns its exit status. The reason why the command ended is
// available as "endedBy" in the "acpterm" member of the status's meta.
func (t *Terminals) WaitForTerminalExit(
	ctx context.Context, req acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	status, err := dispatch[acpterm.TerminalExitStatus](ctx, t, acpterm.MethodWaitForExit, req.SessionId, req)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	return acp.WaitForTerminalExitResponse(exitStatusOf(status)), nil
}

// KillTerminal kills the process tree of the command and waits for the tree to exit, even if ctx is cancelled. The
// output can still be read after KillTerminal returns.
func (t *Terminals) KillTerminal(
	ctx context.Context, req acp.KillTerminalRequest,
) (acp.KillTerminalResponse, error) {
	_, err := dispatch[struct{}](ctx, t, acpterm.MethodKill, req.SessionId, req)
	return acp.KillTerminalResponse{}, err
}

// ReleaseTerminal is like KillTerminal, but it also invalidates the terminal's ID immediately. It may be called more
// than once.
func (t *Terminals) ReleaseTerminal(
	ctx context.Context, req acp.ReleaseTerminalRequest,
) (acp.ReleaseTerminalResponse, error) {
	_, err := dispatch[struct{}](ctx, t, acpterm.MethodRelease, req.SessionId, req)
	return acp.ReleaseTerminalResponse{}, err
}

// dispatch passes a request to the handler. It refuses an empty session id, since the SDK decodes an absent id as
// empty.
func dispatch[Result any](
	ctx context.Context, t *Terminals, method string, session acp.SessionId, request any,
) (result Result, err error) {
	if !t.TerminalCapability() {
		return result, t.requestError(acpterm.ClientCapabilities{}.Require(method))
	}
	if session == "" {
		return result, t.requestError(&acpterm.Error{
			Op: method, Kind: acpterm.ErrInvalidParams, Field: "sessionId", Reason: "required",
		})
	}
	params, err := json.Marshal(request)
	if err != nil { // only in a call by the embedder; values decoded by the SDK can be encoded
		return result, t.requestError(&acpterm.Error{Op: method, Kind: acpterm.ErrInvalidParams, Err: err})
	}
	served, err := t.handler.Dispatch(ctx, method, params)
	if err != nil {
		return result, t.requestError(err)
	}
	return served.(Result), nil
}

// exitStatusOf converts a status to the SDK's type. The SDK omits null members.
func exitStatusOf(status acpterm.TerminalExitStatus) acp.TerminalExitStatus {
	converted := acp.TerminalExitStatus{Signal: status.Signal, Meta: metaOf(status.Meta)}
	if status.ExitCode != nil {
		converted.ExitCode = new(int(*status.ExitCode))
	}
	return converted
}

// metaOf converts meta to the SDK's type.
func metaOf(meta acpterm.Meta) map[string]any {
	if meta == nil {
		return nil
	}
	converted := make(map[string]any, len(meta))
	for name, value := range meta {
		var decoded any
		json.Unmarshal(value, &decoded) // valid JSON from acpterm
		converted[name] = decoded
	}
	return converted
}
