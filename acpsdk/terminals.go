package acpsdk

// The five terminal methods. Each passes its request as JSON to an acpterm.Handler, which validates it.

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	acp "github.com/coder/acp-go-sdk"
)

// Options configure Terminals. A nil *Options is equivalent to the zero value.
type Options struct {
	// Created, if not nil, is called with each terminal that the agent creates, before the agent receives its id. It
	// can, for example, start a goroutine that shows live output with Terminal.Follow. Calls may be concurrent, and
	// each blocks only its own create.
	Created func(*acpterm.Terminal)

	// NewSession, if not nil, is called after the agent's answer to session/new or session/fork. The agent's next
	// message is not read until NewSession returns. Use it to call Manager.OpenSession: with
	// acpterm.Options.RequireSessions, an unopened session cannot have terminals. It is only called for connections
	// made by Connect. For session/load and session/resume, open the session before the call, since its id is known.
	NewSession func(Session)

	// AgentTerminals shows the commands that the agent runs itself, as package agentterm does. Created is called with
	// each, and the agent's next message is not read until Created returns. It only works for connections made by
	// Connect, and requires the client to advertise ClientCapabilities. An ACP v2 agent may offer to cancel such a
	// command, but the SDK does not speak v2: Terminal.Kill returns acpterm.ErrNotCancellable. The default is false.
	AgentTerminals bool

	// TerminalAuth is acpterm.HandlerOptions.TerminalAuth. If true, ClientCapabilities says that the user can sign in
	// to the agent in a terminal, as signin.Run does. The default is false.
	TerminalAuth bool

	// SessionPrefix is acpterm.HandlerOptions.SessionPrefix. It separates the sessions of connections that share a
	// manager.
	SessionPrefix acpterm.SessionID

	// MaxLineBytes is the length of the longest line that the agent reads, newline included. If output would make a
	// line longer, it loses its beginning. 4 KiB are reserved for the rest of the line. The default is 10 MiB, the
	// limit of agents built on the SDK.
	MaxLineBytes int
}

func (o *Options) maxLineBytes() int { return cmp.Or(o.MaxLineBytes, maxSDKLine) }

// Terminals holds the terminals of one connection. Embed it in the client's type, and create it with New. With a nil
// pointer or the zero value, the client does not have terminals: the capability is false, and every method fails as not
// advertised.
//
// All methods are safe for concurrent use. The five ACP methods return errors of type *acp.RequestError. The SDK sends
// them unchanged, with acpterm's kind of error in the data. Their codes are
//
//   - -32602 for a malformed or impossible request, and for a command denied by the policy;
//   - -32002 for a terminal unknown in the session, and for a missing command;
//   - -32800 when ctx is done first, beyond a quota, and after CloseTerminals or the manager's Close;
//   - -32601 without terminals;
//   - -32603 for other errors: a process survived a kill, or a system call failed.
//
// The context bounds the request and never the command.
type Terminals struct {
	handler *acpterm.Handler     // nil without terminals
	agents  *agentterm.Terminals // nil without Options.AgentTerminals
	options Options
}

// New returns the Terminals of one connection. m creates and owns the terminals, and may serve many connections.
func New(m *acpterm.Manager, options *Options) *Terminals {
	if options == nil {
		options = new(Options)
	}
	t := &Terminals{
		handler: acpterm.NewHandler(m, &acpterm.HandlerOptions{
			Created: options.Created, SessionPrefix: options.SessionPrefix, TerminalAuth: options.TerminalAuth,
		}),
		options: *options,
	}
	if options.AgentTerminals {
		t.agents = agentterm.New(t.handler, nil)
	}
	return t
}

// TerminalCapability returns the value for ClientCapabilities.Terminal in the InitializeRequest.
func (t *Terminals) TerminalCapability() bool { return t != nil && t.handler != nil }

// ClientCapabilities returns the value for the InitializeRequest. It advertises the terminals, and the client may add
// its other capabilities. With Options.AgentTerminals, it has the _meta that asks agents to show the commands that they
// run themselves. With Options.TerminalAuth, it says that the user can sign in to the agent in a terminal.
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

// CloseTerminals releases every terminal of the connection and returns when their process trees have ended. It joins
// the errors of the releases. Pending creates fail and leave nothing behind; later creates are refused. The SDK does
// not notify the client of the end of the connection: call CloseTerminals when the Done channel of the
// acp.ClientSideConnection is closed, and when the client disconnects.
func (t *Terminals) CloseTerminals() error {
	if !t.TerminalCapability() {
		return nil
	}
	return t.handler.Close()
}

// CreateTerminal starts a command and returns when it is running. If ctx is done first, nothing is left running.
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
	dispatch[acpterm.EmptyResponse](context.WithoutCancel(ctx), t, acpterm.MethodRelease, req.SessionId,
		acp.ReleaseTerminalRequest{SessionId: req.SessionId, TerminalId: string(created.TerminalID)})
	return created, cancelled
}

// TerminalOutput returns the output so far and, if the command has ended, its exit status. To fit the answer into
// Options.MaxLineBytes, it omits the head that the agent may have asked for (see Head in package agent), and then
// shortens the output.
func (t *Terminals) TerminalOutput(
	ctx context.Context, req acp.TerminalOutputRequest,
) (acp.TerminalOutputResponse, error) {
	out, err := dispatch[acpterm.TerminalOutputResponse](ctx, t, acpterm.MethodOutput, req.SessionId, req)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	text := suffixThatFits(out.Output, t.maxEncoded()-len(out.Meta["acpterm"]))
	if len(text) < len(out.Output) { // the head does not fit, and its outputStart is that of the whole output
		text, out.Meta = suffixThatFits(out.Output, t.maxEncoded()), nil
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

// WaitForTerminalExit waits until the command has ended and returns its exit status. In the status' meta, "endedBy" in
// "acpterm" names the cause.
func (t *Terminals) WaitForTerminalExit(
	ctx context.Context, req acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	status, err := dispatch[acpterm.TerminalExitStatus](ctx, t, acpterm.MethodWaitForExit, req.SessionId, req)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	return acp.WaitForTerminalExitResponse(exitStatusOf(status)), nil
}

// KillTerminal terminates the command's process tree and returns when it has ended. The output of the terminal remains
// readable. Cancelling ctx does not stop the kill.
func (t *Terminals) KillTerminal(
	ctx context.Context, req acp.KillTerminalRequest,
) (acp.KillTerminalResponse, error) {
	killed, err := dispatch[acpterm.EmptyResponse](ctx, t, acpterm.MethodKill, req.SessionId, req)
	return acp.KillTerminalResponse{Meta: metaOf(killed.Meta)}, err
}

// ReleaseTerminal is like KillTerminal, but invalidates the terminal's id immediately. A second release is not an
// error.
func (t *Terminals) ReleaseTerminal(
	ctx context.Context, req acp.ReleaseTerminalRequest,
) (acp.ReleaseTerminalResponse, error) {
	released, err := dispatch[acpterm.EmptyResponse](ctx, t, acpterm.MethodRelease, req.SessionId, req)
	return acp.ReleaseTerminalResponse{Meta: metaOf(released.Meta)}, err
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
