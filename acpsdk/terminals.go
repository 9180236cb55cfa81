package acpsdk

// The five methods between the SDK's types and a Handler of acpterm's, and their common end. A request goes to the
// handler as the JSON that it was, so that what is wrong with it is found where it always is.

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/acpterm/acpterm"
	acp "github.com/coder/acp-go-sdk"
)

// Options configure Terminals. The zero value, and nil in its place, is good.
type Options struct {
	// Created is called with each terminal that the agent creates, before the agent gets its id: the place from which
	// to show live output, with Terminal.Follow in a goroutine. It is called concurrently for several; only that create
	// waits for it to return. Nil: nothing is called.
	Created func(*acpterm.Terminal)

	// NewSession is called when the agent has answered session/new or session/fork, before anything is read that the
	// agent sent after that: the place for Manager.OpenSession, so that the session is open for the agent's first
	// create. What the agent sends waits for it to return. A session that is not opened here has no terminals where
	// acpterm.Options.RequireSessions is set. It is called for a connection that Connect made. For session/load and
	// session/resume the id is known before: open the session before the call. Nil: nothing is called.
	NewSession func(Session)

	// SessionPrefix is acpterm.HandlerOptions.SessionPrefix: it keeps connections that share a manager out of each
	// other's sessions.
	SessionPrefix acpterm.SessionID

	// MaxLineBytes is how long a line the agent reads, its end included. Output that would make a longer one loses
	// its beginning; 4 KiB are left for what stands around it. 0: 10 MiB, as agents made with the SDK do.
	MaxLineBytes int
}

func (o *Options) maxLineBytes() int { return cmp.Or(o.MaxLineBytes, longestLine) }

// Terminals are the terminals of one connection, for a client's type to embed. New makes them. Nil, and the zero value,
// are a client without terminals: the capability is false, and every method fails as not advertised.
//
// All methods may be called concurrently. The errors of the five that serve the agent are *acp.RequestError, which the
// SDK sends as they are. In the data is acpterm's kind of what is wrong. They fail with the code
//
//   - -32602 for a request that is malformed or cannot be carried out, and for a command that the policy denies;
//   - -32002 for a terminal that the session does not have, and a command that is not there;
//   - -32800 when ctx ends first, beyond a quota, and after CloseTerminals or the manager's Close;
//   - -32601 without terminals;
//   - -32603 for the rest: something withstood a kill, or the system refused.
//
// The context bounds the request and never the command.
type Terminals struct {
	handler *acpterm.Handler // nil: no terminals
	options Options
}

// New returns the terminals of one connection, which m makes; nil options mean all defaults. A manager may serve many
// connections.
func New(m *acpterm.Manager, options *Options) *Terminals {
	if options == nil {
		options = new(Options)
	}
	return &Terminals{
		handler: acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: options.Created, SessionPrefix: options.SessionPrefix}),
		options: *options,
	}
}

// TerminalCapability is what to tell the agent as ClientCapabilities.Terminal in the InitializeRequest: whether there
// are terminals.
func (t *Terminals) TerminalCapability() bool { return t != nil && t.handler != nil }

// CloseTerminals releases all that the agent has created and not released, and returns when the commands and what they
// started are gone; its error joins those of the releases. Creates that are under way fail and leave nothing, and later
// ones are refused. The SDK does not say that a connection has ended to the client that it serves: call it when the
// agent is no longer to be talked to, and when the Done of the acp.ClientSideConnection is closed.
func (t *Terminals) CloseTerminals() error {
	if !t.TerminalCapability() {
		return nil
	}
	return t.handler.Close()
}

// CreateTerminal starts a command and returns when it runs. When ctx ends before, nothing is left running.
func (t *Terminals) CreateTerminal(ctx context.Context, req acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	created, err := t.create(ctx, req)
	if err != nil {
		return acp.CreateTerminalResponse{}, err
	}
	return acp.CreateTerminalResponse{TerminalId: string(created.TerminalID), Meta: metaOf(created.Meta)}, nil
}

func (t *Terminals) create(ctx context.Context, req acp.CreateTerminalRequest) (created acpterm.CreateTerminalResponse, err error) {
	created, err = dispatch[acpterm.CreateTerminalResponse](ctx, t, acpterm.MethodCreate, req.SessionId, req)
	if err != nil || ctx.Err() == nil {
		return created, err
	}
	// It was cancelled when the command ran already: the agent does not get the terminal's id.
	cancelled := t.requestError(&acpterm.Error{Op: "create", Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)})
	dispatch[acpterm.ReleaseTerminalResponse](context.WithoutCancel(ctx), t, acpterm.MethodRelease, req.SessionId,
		acp.ReleaseTerminalRequest{SessionId: req.SessionId, TerminalId: string(created.TerminalID)})
	return created, cancelled
}

// TerminalOutput returns the output so far and, once the command has ended, how it ended. Its encoding fits the line
// that the agent reads.
func (t *Terminals) TerminalOutput(ctx context.Context, req acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	out, err := dispatch[acpterm.TerminalOutputResponse](ctx, t, acpterm.MethodOutput, req.SessionId, req)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	text := lastThatFits(out.Output, t.room())
	answer := acp.TerminalOutputResponse{
		Output: text, Truncated: out.Truncated || len(text) < len(out.Output), Meta: metaOf(out.Meta),
	}
	if out.ExitStatus != nil {
		status := exitStatusOf(*out.ExitStatus)
		answer.ExitStatus = &status
	}
	return answer, nil
}

// WaitForTerminalExit returns when the command has ended, and how. In the status' meta, "endedBy" in "acpterm" says
// what ended it.
func (t *Terminals) WaitForTerminalExit(ctx context.Context, req acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	status, err := dispatch[acpterm.WaitForTerminalExitResponse](ctx, t, acpterm.MethodWaitForExit, req.SessionId, req)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	return acp.WaitForTerminalExitResponse(exitStatusOf(acpterm.TerminalExitStatus(status))), nil
}

// KillTerminal ends the command and what it started, and returns when that is gone. The terminal stays. When ctx ends
// first, it goes on.
func (t *Terminals) KillTerminal(ctx context.Context, req acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	killed, err := dispatch[acpterm.KillTerminalResponse](ctx, t, acpterm.MethodKill, req.SessionId, req)
	return acp.KillTerminalResponse{Meta: metaOf(killed.Meta)}, err
}

// ReleaseTerminal is KillTerminal and forgets the terminal: its id is unknown from the first moment on, but to release
// it again is no error.
func (t *Terminals) ReleaseTerminal(ctx context.Context, req acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	released, err := dispatch[acpterm.ReleaseTerminalResponse](ctx, t, acpterm.MethodRelease, req.SessionId, req)
	return acp.ReleaseTerminalResponse{Meta: metaOf(released.Meta)}, err
}

// dispatch has the handler serve a request. The SDK reads an absent session as an empty one, which no agent has.
func dispatch[Result any](ctx context.Context, t *Terminals, method string, session acp.SessionId, request any) (result Result, err error) {
	if !t.TerminalCapability() {
		return result, t.requestError(acpterm.ClientCapabilities{}.Require(method))
	}
	if session == "" {
		return result, t.requestError(&acpterm.Error{
			Op: method, Kind: acpterm.ErrInvalidParams, Field: "sessionId", Reason: "required",
		})
	}
	params, err := json.Marshal(request)
	if err != nil { // a meta of the embedder's own making: the SDK's come from JSON
		return result, t.requestError(&acpterm.Error{Op: method, Kind: acpterm.ErrInvalidParams, Err: err})
	}
	served, err := t.handler.Dispatch(ctx, method, params)
	if err != nil {
		return result, t.requestError(err)
	}
	return served.(Result), nil
}

// exitStatusOf is a status in the SDK's type, which leaves out what acpterm has as null.
func exitStatusOf(status acpterm.TerminalExitStatus) acp.TerminalExitStatus {
	converted := acp.TerminalExitStatus{Signal: status.Signal, Meta: metaOf(status.Meta)}
	if status.ExitCode != nil {
		converted.ExitCode = new(int(*status.ExitCode))
	}
	return converted
}

// metaOf is meta as the SDK has it.
func metaOf(meta acpterm.Meta) map[string]any {
	if meta == nil {
		return nil
	}
	converted := make(map[string]any, len(meta))
	for name, value := range meta {
		var decoded any
		json.Unmarshal(value, &decoded) // it is JSON
		converted[name] = decoded
	}
	return converted
}
