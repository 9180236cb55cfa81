package main

// The client's half of the conversation, all but terminal/*: initialize, session/new, one session/prompt, and
// what the agent sends until that is answered.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
	"github.com/acpterm/acpterm/signin"
)

const protocolVersion = 1

// session is a conversation of one turn. It is the jsonrpc2.Handler for what is not terminal/*.
type session struct {
	screen    *screen
	manager   *acpterm.Manager
	cwd       string            // where commands run, as roots are
	roots     []string          // directories that commands may run in
	toolCalls toolCalls         // for Handle alone, which gets one message at a time
	login     *login            // the environment of commands
	env       []string          // as it is known when the session is asked for
	id        acpterm.SessionID // set by received
	notOpened error             // why there is no session; set by received

	prompting atomic.Bool // there is a turn
	cancelled atomic.Bool
	turn      context.Context // ends when the agent has been told that the turn is cancelled
	endTurn   func()
	sent      chan struct{}       // closed when the agent has been sent the prompt
	tell      func(method string) // sends a notification about the session; set before sent is closed
}

// clientCapabilities are what is advertised: terminals, and no files.
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

// run goes through the conversation. It fails unless the turn ended with end_turn.
func (s *session) run(
	ctx context.Context, conn *jsonrpc2.Conn, terminals acpterm.ClientCapabilities, prompt string,
) (err error) {
	var initialized json.RawMessage
	if err := call(ctx, conn, "initialize", map[string]any{
		"protocolVersion":    protocolVersion,
		"clientCapabilities": clientCapabilities{ClientCapabilities: terminals},
		"clientInfo":         map[string]string{"name": "acpterm-example-client", "version": "1"},
	}, &initialized); err != nil {
		return err
	}
	var agent struct {
		ProtocolVersion int `json:"protocolVersion"`
	}
	if err := json.Unmarshal(initialized, &agent); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	if agent.ProtocolVersion != protocolVersion {
		return fmt.Errorf("the agent speaks version %d of the protocol, and this client %d",
			agent.ProtocolVersion, protocolVersion)
	}
	s.env = s.login.await(ctx)
	if err := call(ctx, conn, "session/new", map[string]any{
		"cwd":        s.cwd,
		"mcpServers": []any{},
	}, nil); signin.IsRequired(err) {
		methods, _ := signin.ReadMethods(initialized) // what is malformed is left out
		return &signInRequired{methods, err}
	} else if err != nil {
		return err
	}
	if s.notOpened != nil {
		return fmt.Errorf("session/new: %w", s.notOpened)
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	s.tell = func(method string) { conn.Notify(ctx, method, map[string]any{"sessionId": s.id}) }

	const method = "session/prompt"
	s.prompting.Store(true)
	defer s.prompting.Store(false)
	waiting, err := conn.DispatchCall(ctx, method, map[string]any{
		"sessionId": s.id,
		"prompt":    []map[string]string{{"type": "text", "text": prompt}},
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

// received sees each message before it is handled, and the next one is not read before it returns. So the session is
// open before the agent, which has just made up its id, can be heard asking for a terminal in it: when conn.Call
// returns the answer, that request may have been refused.
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
	s.notOpened = s.manager.OpenSession(s.id, &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Dir: s.cwd, Env: s.env},
		Roots:    s.roots,
	})
}

// close ends the session and its commands.
func (s *session) close(ctx context.Context) error {
	err := s.manager.CloseSession(ctx, s.id)
	if ctx.Err() != nil {
		return nil // it was not waited for: the manager's end takes no longer than that
	}
	return err
}

// whileWanted asks about a command no longer than the turn lasts that it is for: once the person has cancelled that, an
// agent that waits for the command must hear that there will be none. It hears of the cancel first, or it might take
// this for an answer and go on.
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

// callError is the error of a call as a person should read it.
func callError(ctx context.Context, method string, err error) error {
	_, unwritten := errors.AsType[*fs.PathError](err) // the agent's input is a pipe that nobody reads any more
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

// agentError is an error that the agent has answered with, in its words.
type agentError struct{ answer *jsonrpc2.Error }

// Error has the words in quotes, so that they do not look like the client's.
func (e *agentError) Error() string {
	return fmt.Sprintf("the agent says %s (code %d)", display.Quote(e.answer.Message, mostShown), e.answer.Code)
}

func (e *agentError) Unwrap() error { return e.answer }

// cancel asks the agent to end the turn, and reports whether there is one. It does not wait for anything.
func (s *session) cancel() bool {
	if !s.prompting.Load() {
		return false
	}
	s.cancelled.Store(true)
	go func() {
		<-s.sent // an agent that is told before it has the prompt would not know what is meant
		s.tell("session/cancel")
		s.endTurn()
	}()
	return true
}

// Handle serves what the agent sends. Nothing here waits, so that the next message is read at once.
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
	default: // files, and what is not in the protocol
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
			Text string `json:"text"` // only blocks of text have it
		}
		if err := json.Unmarshal(update.Content, &block); err != nil {
			return invalidParams(err)
		}
		s.screen.print("> ", block.Text)
	case "tool_call", "tool_call_update":
		s.showToolCall(update.toolCallUpdate)
	}
	return nil
}

// requestPermission allows what the agent asks for, unless the turn is being cancelled.
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
	title := s.showToolCall(request.ToolCall) // some agents tell of a tool call only here
	for _, option := range request.Options {
		if (option.Kind == "allow_once" || option.Kind == "allow_always") && !s.cancelled.Load() {
			s.screen.print("* ", title+": allowed ("+quoteStart(option.Name)+")\n")
			answer = outcome{"selected", option.ID}
			break
		}
	}
	return map[string]any{"outcome": answer}, nil
}

func invalidParams(err error) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
}
