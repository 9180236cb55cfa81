package exampleagent

// This file runs one turn: from a prompt to its stop reason, with a tool call, a permission request and a terminal.

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	acpagent "github.com/acpterm/acpterm/agent"
)

// pollInterval is how often the agent reads the output of a running command.
const pollInterval = 250 * time.Millisecond

// turn is a prompt being answered.
type turn struct {
	conn         *jsonrpc2.Conn
	session      acpterm.SessionID
	capabilities acpterm.ClientCapabilities
	command      string
	self         bool                // the agent runs the command itself
	terminals    *acpagent.Terminals // used if self is set
	cwd          string
	toolCallID   string        // of the turn's only tool call
	cancelled    chan struct{} // closed by cancel
	cancel       func()        // may be called more than once
}

// textContent is a block of text (schema type TextContent).
type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// terminalContent is a terminal shown by a tool call (schema type Terminal, in ToolCallContent).
type terminalContent struct {
	Type       string             `json:"type"`
	TerminalID acpterm.TerminalID `json:"terminalId"`
}

// update is the content of a session/update: the fields of the schema types ToolCall, ToolCallUpdate and ContentChunk
// that this agent uses.
type update struct {
	Kind       string `json:"sessionUpdate"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Title      string `json:"title,omitempty"`
	ToolKind   string `json:"kind,omitempty"`
	Status     string `json:"status,omitempty"`
	Content    any    `json:"content,omitempty"`
}

// run runs the turn. ctx belongs to the connection: a cancelled turn still has to send updates and to clean up.
func (t *turn) run(ctx context.Context) (stopReason string, err error) {
	switch {
	case !t.self && t.capabilities.Require(acpterm.MethodCreate) != nil:
		return "refusal", t.say(ctx, "I run commands, and for that your client would have to offer terminals.")
	case t.command == "":
		return "refusal", t.say(ctx, "There is no command in your prompt.")
	}
	if err := t.beginToolCall(ctx); err != nil {
		return "", err
	}
	allowed, err := t.askPermission(ctx)
	if err != nil {
		return "", err
	}
	if t.isCancelled() {
		return "cancelled", t.closeToolCall(ctx, false)
	}
	if !allowed {
		return "end_turn", errors.Join(t.closeToolCall(ctx, false), t.say(ctx, "I was not allowed to run it."))
	}
	execute := t.execute
	if t.self {
		execute = t.executeItself
	}
	result, failure := execute(ctx)
	succeeded := failure == nil && result.ExitStatus != nil && result.ExitStatus.Success()
	if err := t.closeToolCall(ctx, succeeded); err != nil {
		return "", err
	}
	switch {
	case t.isCancelled():
		return "cancelled", nil
	case failure != nil: // such as a nonexistent command; the next prompt may be better
		return "end_turn", t.say(ctx, reason(failure))
	case result.ExitStatus == nil:
		return "end_turn", t.say(ctx, "how it ended is not known")
	}
	return "end_turn", t.say(ctx, result.ExitStatus.String())
}

// reason returns the message of an error, without the code if the client sent it.
func reason(err error) string {
	if answer, ok := errors.AsType[*jsonrpc2.Error](err); ok {
		return answer.Message
	}
	return err.Error()
}

func (t *turn) isCancelled() bool {
	select {
	case <-t.cancelled:
		return true
	default:
		return false
	}
}

// askPermission asks the user. If the client cancels the turn, it answers "cancelled".
func (t *turn) askPermission(ctx context.Context) (allowed bool, err error) {
	type option struct {
		ID   string `json:"optionId"`
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
	var answer struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	err = t.conn.Call(ctx, "session/request_permission", map[string]any{
		"sessionId": t.session,
		"toolCall": map[string]any{
			"toolCallId": t.toolCallID, "title": t.command, "kind": "execute", "rawInput": t.rawInput(),
		},
		"options": []option{{"allow", "Run it", "allow_once"}, {"reject", "Do not run it", "reject_once"}},
	}, &answer)
	return answer.Outcome.Outcome == "selected" && answer.Outcome.OptionID == "allow", err
}

// rawInput returns the command of execute's request. If the client has already shown it to its user, it need not ask
// again.
func (t *turn) rawInput() map[string]any {
	command, args := split(t.command)
	if len(args) == 0 {
		return map[string]any{"command": command, "cwd": t.cwd}
	}
	return map[string]any{"command": append([]string{command}, args...), "cwd": t.cwd}
}

// execute runs the command in a terminal and returns the terminal's final output. It releases the terminal.
func (t *turn) execute(ctx context.Context) (result acpterm.TerminalOutputResponse, err error) {
	command, args := split(t.command)
	var created acpterm.CreateTerminalResponse
	if err := t.conn.Call(ctx, acpterm.MethodCreate, acpterm.CreateTerminalRequest{
		SessionID: t.session, Command: command, Args: args, Cwd: t.cwd,
	}, &created); err != nil {
		return result, err
	}
	ref := acpterm.TerminalRequest{SessionID: t.session, TerminalID: created.TerminalID}
	defer func() { err = errors.Join(err, t.conn.Call(ctx, acpterm.MethodRelease, ref, nil)) }()

	// The user sees the terminal in the tool call, even after its release.
	if err := t.update(ctx, update{
		Kind: "tool_call_update", ToolCallID: t.toolCallID, Status: "in_progress",
		Content: []terminalContent{{"terminal", created.TerminalID}},
	}); err != nil {
		return result, err
	}
	return t.await(ctx, ref)
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

// await keeps one wait pending and polls the output until the command has ended.
func (t *turn) await(
	ctx context.Context, ref acpterm.TerminalRequest,
) (result acpterm.TerminalOutputResponse, err error) {
	waiting, err := t.conn.DispatchCall(ctx, acpterm.MethodWaitForExit, ref)
	if err != nil {
		return result, err
	}
	exited := make(chan error, 1)
	go func() { exited <- waiting.Wait(ctx, nil) }()
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for cancelled := t.cancelled; ; {
		select {
		case err := <-exited:
			if err != nil {
				return result, err
			}
			// Read the output since the last poll.
			err = t.conn.Call(ctx, acpterm.MethodOutput, ref, &result)
			return result, err
		case <-poll.C:
			// An agent with a model could see here that a command hangs.
			if err := t.conn.Call(ctx, acpterm.MethodOutput, ref, &result); err != nil {
				return result, err
			}
		case <-cancelled:
			cancelled = nil // once is enough; the wait returns when the command has ended
			if err := t.conn.Call(ctx, acpterm.MethodKill, ref, nil); err != nil {
				return result, err
			}
		}
	}
}

// beginToolCall announces the tool call, unless package agent does so.
func (t *turn) beginToolCall(ctx context.Context) error {
	if t.self {
		return nil
	}
	return t.update(ctx, update{
		Kind: "tool_call", ToolCallID: t.toolCallID, Title: t.command, ToolKind: "execute", Status: "pending",
	})
}

func (t *turn) closeToolCall(ctx context.Context, succeeded bool) error {
	if t.self {
		return nil
	}
	status := "failed"
	if succeeded {
		status = "completed"
	}
	return t.update(ctx, update{Kind: "tool_call_update", ToolCallID: t.toolCallID, Status: status})
}

func (t *turn) say(ctx context.Context, text string) error {
	return t.update(ctx, update{Kind: "agent_message_chunk", Content: textContent{Type: "text", Text: text}})
}

func (t *turn) update(ctx context.Context, u update) error {
	return t.conn.Notify(ctx, "session/update", map[string]any{"sessionId": t.session, "update": u})
}
