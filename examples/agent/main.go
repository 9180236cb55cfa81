// Agent is a small ACP agent on standard input and output. It has no model: the text of a prompt is a command, which it
// runs in a terminal of its client. After "self: ", and for a client without terminals, it runs the command itself.
//
//	go run ./examples/client go run ./examples/agent
//
// With -tokens, it requires the user to sign in first:
//
//	go run ./cmd/acpterm -prompt 'go version' -- go run ./examples/agent -tokens tokens
//
// This file has the conversation, and signin.go the sign-in.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	acpagent "github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
)

const usage = `usage: agent [-tokens FILE] [-sign-in]

Is an ACP agent on standard input and output: the text of a prompt is a command, which it runs in the client's terminal.

  acpterm -prompt 'go version' -- agent
  acpterm -prompt 'self: go version' -- agent
  acpterm -prompt 'go version' -- agent -tokens tokens

`

func main() {
	manager, err := acpterm.NewManager(nil) // for the commands that the agent runs itself
	if err != nil {
		log.Fatal(err)
	}
	options := &acpagent.TerminalsOptions{ProtocolVersion: 1}
	a := &agent{terminals: acpagent.NewTerminals(manager, options), sessions: make(map[acpterm.SessionID]*session)}
	flag.StringVar(&a.tokens, "tokens", "", "the `file` that signing in creates (default: no sign-in is required)")
	signsIn := flag.Bool("sign-in", false, "ask for the password on the terminal, and create the file of -tokens")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if *signsIn {
		os.Exit(signIn(a.tokens))
	}
	stream := acpagent.NewStream(agentproc.JoinStdio(os.Stdin, os.Stdout))
	<-jsonrpc2.NewConn(context.Background(), stream, a.terminals.Handler(a)).DisconnectNotify()
	manager.Close() // immediately: the client is ending the agent
	a.turns.Wait()
}

// agent implements jsonrpc2.Handler.
type agent struct {
	terminals *acpagent.Terminals
	turns     sync.WaitGroup // the running turns
	tokens    string         // the file written by a sign-in, or "" if a sign-in is not required
	canSignIn bool           // the client can run the sign-in

	mu       sync.Mutex
	sessions map[acpterm.SessionID]*session
}

// session is a conversation. Its fields are guarded by the agent's mu.
type session struct {
	cwd    string
	turns  int                // so far
	cancel context.CancelFunc // of the current turn, or nil
}

type object map[string]any

// Handle is called for one message at a time. While it runs, nothing else is read, not even an answer to the agent's own
// requests. A turn waits for such answers, so it has its own goroutine.
func (a *agent) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	handle := jsonrpc2.HandlerWithError(a.answer)
	if req.Method != "session/prompt" || req.Params == nil {
		handle.Handle(ctx, conn, req)
		return
	}
	t, err := a.beginTurn(ctx, conn, *req.Params)
	if err != nil {
		conn.ReplyWithError(ctx, req.ID, invalidParams(err))
		return
	}
	a.turns.Go(func() {
		stopReason, err := t.run(ctx)
		a.endTurn(t)
		if err != nil {
			conn.ReplyWithError(ctx, req.ID, acpterm.ResponseError(err))
			return
		}
		conn.Reply(ctx, req.ID, object{"stopReason": stopReason})
	})
}

// answer answers all requests except session/prompt.
func (a *agent) answer(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var params struct {
		SessionID acpterm.SessionID
		Cwd       string
	}
	raw, _ := json.Marshal(req.Params)
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, invalidParams(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch req.Method {
	case "initialize":
		capabilities, err := acpagent.ReadClientCapabilities(raw)
		a.canSignIn = capabilities.Auth.Terminal
		return object{
			"protocolVersion": 1, // the only supported version; other clients disconnect
			"agentCapabilities": object{ // commands may name any directory that the client allows
				"sessionCapabilities": object{"additionalDirectories": object{}},
			},
			"agentInfo":   object{"name": "acpterm-example-agent", "version": "1"},
			"authMethods": a.authMethods(),
		}, err
	case "session/new":
		if err := a.signedIn(); err != nil {
			return nil, err
		}
		id := acpterm.SessionID(fmt.Sprintf("session-%d", len(a.sessions)+1))
		a.sessions[id] = &session{cwd: params.Cwd}
		return object{"sessionId": id}, nil
	case "session/cancel":
		if s := a.sessions[params.SessionID]; s != nil && s.cancel != nil {
			s.cancel()
		}
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "method not found: " + req.Method}
}

func invalidParams(err error) *jsonrpc2.Error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
}

// turn is a prompt being answered.
type turn struct {
	conn      *jsonrpc2.Conn
	terminals *acpagent.Terminals
	session   acpterm.SessionID
	cancelled context.Context // ends when the client cancels the turn
	self      bool            // the agent runs the command itself
	command   string
	cwd       string
	id        string // of the turn's only tool call
}

// beginTurn registers a turn, so that a session/cancel after the prompt finds it.
func (a *agent) beginTurn(ctx context.Context, conn *jsonrpc2.Conn, params json.RawMessage) (*turn, error) {
	var req struct {
		SessionID acpterm.SessionID
		Prompt    []struct{ Text string }
	}
	if err := json.Unmarshal(params, &req); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[req.SessionID]
	switch {
	case s == nil:
		return nil, fmt.Errorf("there is no session %q", req.SessionID)
	case s.cancel != nil:
		return nil, fmt.Errorf("the session %q has a turn under way", req.SessionID)
	}
	s.turns++
	t := &turn{conn: conn, terminals: a.terminals, session: req.SessionID, cwd: s.cwd, id: fmt.Sprintf("call-%d", s.turns)}
	t.cancelled, s.cancel = context.WithCancel(ctx)
	for _, block := range req.Prompt {
		t.command += block.Text
	}
	t.command, t.self = strings.CutPrefix(strings.TrimSpace(t.command), "self:")
	t.command = strings.TrimSpace(t.command)
	return t, nil
}

func (a *agent) endTurn(t *turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[t.session].cancel()
	a.sessions[t.session].cancel = nil
}

// run runs the turn: a question to the user, a tool call, and a message about how the command ended. ctx belongs to the
// connection: a cancelled turn still has to say something.
func (t *turn) run(ctx context.Context) (stopReason string, err error) {
	if t.command == "" {
		return "refusal", t.say(ctx, "There is no command in your prompt.")
	}
	command, args := split(t.command)
	allowed, err := t.askPermission(ctx, command, args)
	switch {
	case err != nil:
		return "", err
	case t.cancelled.Err() != nil:
		return "cancelled", nil
	case !allowed:
		return "end_turn", t.say(ctx, "I was not allowed to run it.")
	}
	result, err := t.terminals.Run(t.cancelled, acpagent.ToolCall{
		ID: t.id, Title: t.command, Own: t.self,
		Request: acpterm.CreateTerminalRequest{SessionID: t.session, Command: command, Args: args, Cwd: t.cwd},
	})
	var refused *jsonrpc2.Error
	switch {
	case t.cancelled.Err() != nil:
		return "cancelled", nil
	case errors.As(err, &refused): // without the code that the client sent; the next prompt may be better
		return "end_turn", t.say(ctx, refused.Message)
	case err != nil: // such as a nonexistent command
		return "end_turn", t.say(ctx, err.Error())
	case result.ExitStatus == nil:
		return "end_turn", t.say(ctx, "how it ended is not known")
	}
	return "end_turn", t.say(ctx, result.ExitStatus.String())
}

// askPermission asks the user. If the client cancels the turn, it answers "cancelled".
func (t *turn) askPermission(ctx context.Context, command string, args []string) (allowed bool, err error) {
	// rawInput has the command of the request that follows. If the client has shown it to its user, it need not ask again.
	rawInput := object{"command": command, "cwd": t.cwd}
	if len(args) > 0 {
		rawInput["command"] = append([]string{command}, args...)
	}
	var answer struct {
		Outcome struct{ Outcome, OptionID string }
	}
	err = t.conn.Call(ctx, "session/request_permission", object{
		"sessionId": t.session,
		"toolCall":  object{"toolCallId": t.id, "title": t.command, "kind": "execute", "rawInput": rawInput},
		"options": []object{
			{"optionId": "allow", "name": "Run it", "kind": "allow_once"},
			{"optionId": "reject", "name": "Do not run it", "kind": "reject_once"},
		},
	}, &answer)
	return answer.Outcome.Outcome == "selected" && answer.Outcome.OptionID == "allow", err
}

// split returns the program and arguments of a line of plain words, which a client's rules can match. Any other line is
// returned as a command without arguments. The client then runs it in its shell.
func split(line string) (command string, args []string) {
	words := strings.Fields(line)
	if strings.ContainsAny(line, "\n|&;<>()$`\\\"'*?[]#~%!{}^") {
		return line, nil
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return line, nil
	}
	return words[0], words[1:]
}

// say sends a message.
func (t *turn) say(ctx context.Context, text string) error {
	return t.conn.Notify(ctx, "session/update", object{"sessionId": t.session, "update": object{
		"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": text},
	}})
}
