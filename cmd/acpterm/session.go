package main

// This file has the client's side of the conversation, except terminal/*: initialize, session/new, one session/prompt,
// and the agent's messages until the prompt is answered.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/signin"
)

const protocolVersion = 1

// session is a conversation of one turn. It is the jsonrpc2.Handler for everything but terminal/*.
type session struct {
	screen    *screen
	manager   *acpterm.Manager
	cwd       string              // a directory where commands run, like roots
	roots     []string            // directories that commands may run in
	toolCalls toolCalls           // used by Handle only, which gets one message at a time
	page      *livePage           // nil without -view
	tools     *mcpserver.Listener // nil without -mcp
	agent     string              // the agent's name; at first, that of its program
	id        acpterm.SessionID   // set by received
	notOpened error               // why the session was not opened; set by received

	named     atomic.Int32 // number of sessions named on the page
	prompting atomic.Bool  // a turn is running
	cancelled atomic.Bool
	turn      context.Context // ends when the agent has been told of the cancel
	endTurn   func()
	sent      chan struct{}       // closed when the prompt has been sent to the agent
	tell      func(method string) // sends a notification about the session; set before sent is closed
}

// clientCapabilities are the advertised capabilities: terminals, but no files.
type clientCapabilities struct {
	acpterm.ClientCapabilities
	FS struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	} `json:"fs"`
}

func newSession(screen *screen) *session {
	s := &session{screen: screen, sent: make(chan struct{})}
	s.turn, s.endTurn = context.WithCancel(context.Background())
	return s
}

// run holds the conversation. It fails unless the turn ended with end_turn.
func (s *session) run(
	ctx context.Context, conn *jsonrpc2.Conn, terminals acpterm.ClientCapabilities, prompt string,
) (err error) {
	initialized, err := s.initialize(ctx, conn, terminals)
	if err != nil {
		return err
	}
	servers, withdraw, err := s.offerTools(initialized)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx, withdraw)) }()
	if err := call(ctx, conn, "session/new", map[string]any{
		"cwd":        s.cwd,
		"mcpServers": servers,
	}, nil); signin.IsRequired(err) {
		methods, _ := signin.ReadMethods(initialized) // malformed methods are left out
		return &signInRequired{methods, err}
	} else if err != nil {
		return err
	}
	if s.notOpened != nil {
		return fmt.Errorf("session/new: %w", s.notOpened)
	}
	s.tell = func(method string) { conn.Notify(ctx, method, map[string]any{"sessionId": s.id}) }
	return s.prompt(ctx, conn, prompt)
}

// initialize returns the agent's response. It fails if the agent speaks another version of the protocol.
func (s *session) initialize(
	ctx context.Context, conn *jsonrpc2.Conn, terminals acpterm.ClientCapabilities,
) (initialized json.RawMessage, err error) {
	if err := call(ctx, conn, "initialize", map[string]any{
		"protocolVersion":    protocolVersion,
		"clientCapabilities": clientCapabilities{ClientCapabilities: terminals},
		"clientInfo":         map[string]string{"name": "acpterm-example-client", "version": "1"},
	}, &initialized); err != nil {
		return nil, err
	}
	var agent struct {
		ProtocolVersion int                          `json:"protocolVersion"`
		Info            struct{ Title, Name string } `json:"agentInfo"`
	}
	if err := json.Unmarshal(initialized, &agent); err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	if agent.ProtocolVersion != protocolVersion {
		return nil, fmt.Errorf("the agent speaks version %d of the protocol, and this client %d",
			agent.ProtocolVersion, protocolVersion)
	}
	s.agent = cmp.Or(agent.Info.Title, agent.Info.Name, s.agent)
	return initialized, nil
}

// prompt gives the agent the prompt, and fails unless the turn ends with end_turn.
func (s *session) prompt(ctx context.Context, conn *jsonrpc2.Conn, text string) error {
	const method = "session/prompt"
	s.prompting.Store(true)
	defer s.prompting.Store(false)
	waiting, err := conn.DispatchCall(ctx, method, map[string]any{
		"sessionId": s.id,
		"prompt":    []map[string]string{{"type": "text", "text": text}},
	})
	if err != nil {
		return callError(ctx, method, err)
	}
	close(s.sent)
	var turn struct {
		StopReason string `json:"stopReason"`
	}
	if err := waiting.Wait(ctx, &turn); err != nil {
		return callError(ctx, method, err)
	}
	if turn.StopReason != "end_turn" {
		return fmt.Errorf("%w with %q", errTurnStopped, turn.StopReason)
	}
	return nil
}

// received sees each message before it is handled, and the next message is not read before it returns. So the session
// is open before the agent, which has just chosen its id, can request a terminal in it. It would be too late when
// conn.Call returns the answer: by then, that request may have been refused.
func (s *session) received(req *jsonrpc2.Request, answer *jsonrpc2.Response) {
	if answer == nil || answer.Error != nil || req == nil || req.Method != "session/new" {
		return
	}
	var created struct {
		SessionID acpterm.SessionID `json:"sessionId"`
	}
	if answer.Result != nil {
		if s.notOpened = json.Unmarshal(*answer.Result, &created); s.notOpened != nil {
			return
		}
	}
	s.id = created.SessionID
	s.notOpened = s.manager.OpenSession(s.id, s.options())
	s.nameSession(s.id)
}

// options returns the options of the session, and of the agent's MCP sessions.
func (s *session) options() *acpterm.SessionOptions {
	return &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Dir: s.cwd},
		Roots:    s.roots,
	}
}

// nameSession names the session, or an MCP session of the agent, on the page: by the project's directory, which may be a
// remote one, and the agent. The page keeps all names, so many sessions have none.
func (s *session) nameSession(id acpterm.SessionID) {
	const mostNamed, mostBytes = 100, 200
	if s.named.Add(1) <= mostNamed {
		name := path.Base(filepath.ToSlash(s.cwd)) + " (" + s.agent + ")"
		s.page.nameSession(id, display.Visible(name, mostBytes))
	}
}

// close ends the session, which may not have been opened, and the commands of the agent.
func (s *session) close(ctx context.Context, withdraw func(context.Context) error) error {
	withdrawn := make(chan error, 1)
	go func() { withdrawn <- withdraw(ctx) }()
	err := errors.Join(s.manager.CloseSession(ctx, s.id), <-withdrawn)
	if ctx.Err() != nil {
		return nil // the commands were not waited for; closing the manager takes no longer than that
	}
	return err
}

// whileWanted asks about a command only until its turn is cancelled. An agent waiting for the command must then hear
// that it will not run. The agent hears of the cancel first, because it might take the refusal for an answer and go on.
func (s *session) whileWanted(
	ask func(context.Context, acpterm.Question) acpterm.Answer,
) func(context.Context, acpterm.Question) acpterm.Answer {
	return func(ctx context.Context, q acpterm.Question) acpterm.Answer {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(s.turn, cancel)()
		return ask(ctx, q)
	}
}

func call(ctx context.Context, conn *jsonrpc2.Conn, method string, params, result any) error {
	return callError(ctx, method, conn.Call(ctx, method, params, result))
}

// callError makes the error of a call readable for users.
func callError(ctx context.Context, method string, err error) error {
	_, unwritten := errors.AsType[*fs.PathError](err) // no one reads the agent's input pipe any more
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case unwritten || errors.Is(err, jsonrpc2.ErrClosed):
		return errAgentGone
	}
	if answer, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		err = &agentError{answer}
	}
	return fmt.Errorf("%s: %w", method, err)
}

// agentError is an error response from the agent.
type agentError struct{ answer *jsonrpc2.Error }

// Error quotes the agent's words, so that they do not look like the client's.
func (e *agentError) Error() string {
	return fmt.Sprintf("the agent says %s (code %d)", display.Quote(e.answer.Message, mostShown), e.answer.Code)
}

func (e *agentError) Unwrap() error { return e.answer }

// cancel asks the agent to end the turn, and reports whether a turn is running. It does not block.
func (s *session) cancel() bool {
	if !s.prompting.Load() {
		return false
	}
	s.cancelled.Store(true)
	go func() {
		<-s.sent // without the prompt, an agent would not know which turn is meant
		s.tell("session/cancel")
		s.endTurn()
	}()
	return true
}

// Handle serves the agent's messages. It does not block, so that the next message is read immediately.
func (s *session) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	var params json.RawMessage
	if req.Params != nil {
		params = *req.Params
	}
	var result any
	var err error
	switch req.Method {
	case "session/update":
		err = s.update(params)
	case "session/request_permission":
		result, err = s.requestPermission(params)
	default: // files, and unknown methods
		err = &acpterm.Error{Op: req.Method, Kind: acpterm.ErrMethodNotFound}
	}
	switch {
	case req.Notif:
	case err != nil:
		conn.ReplyWithError(ctx, req.ID, acpterm.ResponseError(err))
	default:
		conn.Reply(ctx, req.ID, result)
	}
}

func (s *session) update(params json.RawMessage) error {
	var notification struct {
		Update struct {
			Kind string `json:"sessionUpdate"`
			toolCallUpdate
		} `json:"update"`
	}
	if err := json.Unmarshal(params, &notification); err != nil {
		return invalidParams(err)
	}
	switch update := notification.Update; update.Kind {
	case "agent_message_chunk":
		var block struct {
			Text string `json:"text"` // only text blocks have it
		}
		if err := json.Unmarshal(update.Content, &block); err != nil {
			return invalidParams(err)
		}
		s.screen.print("> ", block.Text)
	case "tool_call", "tool_call_update":
		s.showToolCall(s.addToolCall(update.toolCallUpdate))
	}
	return nil
}

// requestPermission grants every request, unless the turn is being cancelled.
func (s *session) requestPermission(params json.RawMessage) (any, error) {
	var request struct {
		ToolCall toolCallUpdate `json:"toolCall"`
		Options  []struct {
			ID   string `json:"optionId"`
			Name string `json:"name"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(params, &request); err != nil {
		return nil, invalidParams(err)
	}
	type outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId,omitempty"`
	}
	answer := outcome{Outcome: "cancelled"}
	call := s.addToolCall(request.ToolCall) // some agents report a tool call only here
	for _, option := range request.Options {
		if (option.Kind == "allow_once" || option.Kind == "allow_always") && !s.cancelled.Load() {
			call.allowed = quoteStart(option.Name)
			answer = outcome{"selected", option.ID}
			break
		}
	}
	s.showToolCall(call)
	return map[string]any{"outcome": answer}, nil
}

func invalidParams(err error) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
}
