package acpsdk

// Terminals: the five methods. Each passes its request as JSON to an acpterm.Handler, which validates it.

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentterm"
	acp "github.com/coder/acp-go-sdk"
)

// Options configure Terminals. A nil pointer means the zero value.
type Options struct {
	// Created is called with each terminal that the agent creates, before the agent receives its id, for example to
	// show live output with Terminal.Follow in a goroutine. Calls may be concurrent, and each blocks only its own
	// create. Nil: nothing is called.
	Created func(*acpterm.Terminal)

	// NewSession is called after the agent's answer to session/new or session/fork, and before the agent's next message
	// is read, which waits for it to return. It is for Manager.OpenSession: with acpterm.Options.RequireSessions a
	// session that is not open has no terminals. It is called for connections that Connect made. For session/load and
	// session/resume open the session before the call, since its id is known. Nil: nothing is called.
	NewSession func(Session)

	// AgentTerminals shows the commands that the agent runs itself, as package agentterm does. Created is called with each before the agent's next message is read, which waits for it to return. It is
	// for connections that Connect made; advertise ClientCapabilities. The SDK does not speak ACP v2, where an agent may
	// offer to cancel such a command: Terminal.Kill of it fails with acpterm.ErrNotCancellable. False: none are shown.
	AgentTerminals bool

	// TerminalAuth is acpterm.HandlerOptions.TerminalAuth: ClientCapabilities says that a person can sign in to the
	// agent in a terminal, as signin.Run does. False: it does not.
	TerminalAuth bool

	// SessionPrefix is acpterm.HandlerOptions.SessionPrefix: it separates the sessions of connections that share a
	// manager.
	SessionPrefix acpterm.SessionID

	// MaxLineBytes is the longest line that the agent reads, newline included. Output that would make a line longer
	// loses its beginning; 4 KiB are reserved for the rest of the line. 0: 10 MiB, the limit of agents on the SDK.
	MaxLineBytes int
}

func (o *Options) maxLineBytes() int { return cmp.Or(o.MaxLineBytes, maxSDKLine) }

// Terminals are the terminals of one connection, for a client's type to embed. New makes them. A nil pointer and the
// zero value are a client without terminals: the capability is false, and every method fails as not advertised.
//
// All methods may be called concurrently. The errors of the five ACP methods are *acp.RequestError, which the SDK sends
// as they are, with acpterm's kind of error in the data. Their codes are
//
//   - -32602 for a request that is malformed or cannot be carried out, and for a command that the policy denies;
//   - -32002 for a terminal that the session does not have, and a command that is not found;
//   - -32800 when ctx ends first, beyond a quota, and after CloseTerminals or the manager's Close;
//   - -32601 without terminals;
//   - -32603 for other errors: a process survived a kill, or a system call failed.
//
// The context bounds the request and never the command.
type Terminals struct {
	handler *acpterm.Handler     // nil: no terminals
	agents  *agentterm.Terminals // nil without Options.AgentTerminals
	options Options
}

// New returns the terminals of one connection, created by m. A manager may serve many connections.
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

// TerminalCapability is the value for ClientCapabilities.Terminal in the InitializeRequest.
func (t *Terminals) TerminalCapability() bool { return t != nil && t.handler != nil }

// ClientCapabilities is the value for the InitializeRequest, to which the client adds what else it serves: terminals,
// with Options.AgentTerminals the _meta that has agents show the commands that they run themselves, and with
// Options.TerminalAuth that a person can sign in in a terminal.
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

// CloseTerminals releases every terminal of the connection and returns when their process trees have ended; its error
// joins those of the releases. Pending creates fail and leave nothing, and later ones are refused. The SDK does not
// notify the client of the connection's end: call it when the Done of the acp.ClientSideConnection is closed, and when
// the client disconnects.
func (t *Terminals) CloseTerminals() error {
	if !t.TerminalCapability() {
		return nil
	}
	return t.handler.Close()
}

// CreateTerminal starts a command and returns when it runs. When ctx ends first, nothing is left running.
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
	// The request was cancelled after the start, so the agent does not receive the terminal's id.
	cancelled := t.requestError(&acpterm.Error{Op: "create", Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)})
	dispatch[acpterm.EmptyResponse](context.WithoutCancel(ctx), t, acpterm.MethodRelease, req.SessionId,
		acp.ReleaseTerminalRequest{SessionId: req.SessionId, TerminalId: string(created.TerminalID)})
	return created, cancelled
}

// TerminalOutput returns the output so far and, once the command has ended, its status. The output is shortened so that
// the answer fits Options.MaxLineBytes; an answer that has to be is without the head that the agent may have asked for
// (Head in package agent).
func (t *Terminals) TerminalOutput(
	ctx context.Context, req acp.TerminalOutputRequest,
) (acp.TerminalOutputResponse, error) {
	out, err := dispatch[acpterm.TerminalOutputResponse](ctx, t, acpterm.MethodOutput, req.SessionId, req)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	text := suffixThatFits(out.Output, t.maxEncoded()-len(out.Meta["acpterm"]))
	if len(text) < len(out.Output) { // the head does not fit, and says where the whole output begins
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

// WaitForTerminalExit waits until the command has ended and returns its status. In the status' meta, "endedBy" in
// "acpterm" says what ended it.
func (t *Terminals) WaitForTerminalExit(
	ctx context.Context, req acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	status, err := dispatch[acpterm.TerminalExitStatus](ctx, t, acpterm.MethodWaitForExit, req.SessionId, req)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	return acp.WaitForTerminalExitResponse(exitStatusOf(status)), nil
}

// KillTerminal ends the command's process tree and returns when it has ended. The terminal's output can still be read.
// The end of ctx does not stop the kill.
func (t *Terminals) KillTerminal(
	ctx context.Context, req acp.KillTerminalRequest,
) (acp.KillTerminalResponse, error) {
	killed, err := dispatch[acpterm.EmptyResponse](ctx, t, acpterm.MethodKill, req.SessionId, req)
	return acp.KillTerminalResponse{Meta: metaOf(killed.Meta)}, err
}

// ReleaseTerminal is KillTerminal and invalidates the terminal's id at once. A second release is not an error.
func (t *Terminals) ReleaseTerminal(
	ctx context.Context, req acp.ReleaseTerminalRequest,
) (acp.ReleaseTerminalResponse, error) {
	released, err := dispatch[acpterm.EmptyResponse](ctx, t, acpterm.MethodRelease, req.SessionId, req)
	return acp.ReleaseTerminalResponse{Meta: metaOf(released.Meta)}, err
}

// dispatch passes a request to the handler. An empty session is refused here, since the SDK decodes an absent one so.
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
	if err != nil { // an embedder's own call: what the SDK decoded can be encoded
		return result, t.requestError(&acpterm.Error{Op: method, Kind: acpterm.ErrInvalidParams, Err: err})
	}
	served, err := t.handler.Dispatch(ctx, method, params)
	if err != nil {
		return result, t.requestError(err)
	}
	return served.(Result), nil
}

// exitStatusOf converts a status to the SDK's type, which omits null members.
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
