package with

// An agent of the tests: the test binary, speaking sourcegraph/jsonrpc2 by way of acpterm/agent. A prompt is the name of
// what it is to do, and it says what came of that.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/sourcegraph/jsonrpc2"
)

// testAgent is the agent's end of its connection. Its turns are named by prompts.
type testAgent struct {
	conn   *jsonrpc2.Conn
	client *agent.Client
}

var turns = map[string]func(*testAgent, context.Context) error{
	"kill while a wait is pending": (*testAgent).killWhileWaiting,
	"cancel waits":                 (*testAgent).cancelWaits,
	"name a terminal that is not":  (*testAgent).unknownTerminal,
	"send malformed params":        (*testAgent).malformedParams,
	"say much":                     (*testAgent).sayMuch,
	"print what is no message":     (*testAgent).printNoise,
	"read much":                    (*testAgent).readMuch,
	"leave while a command runs":   (*testAgent).leave,
}

// steering clears the screen of a terminal that gets it.
const steering = "X\x1b[2J\r"

func serveTestAgent() {
	a := new(testAgent)
	stdio := agentproc.JoinStdio(os.Stdin, os.Stdout) // seen from here, what is read from is the input
	handler := jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(a.handle))
	<-jsonrpc2.NewConn(context.Background(), agent.NewStream(stdio), handler).DisconnectNotify()
}

func (a *testAgent) handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	switch req.Method {
	case "initialize":
		a.conn = conn
		capabilities, err := agent.ReadClientCapabilities(*req.Params)
		a.client = agent.NewClient(a.conn, capabilities, nil)
		return map[string]any{"protocolVersion": 1}, err
	case "session/new":
		return map[string]any{"sessionId": "s"}, nil
	}
	var p struct{ Prompt []struct{ Text string } }
	if err := json.Unmarshal(*req.Params, &p); err != nil {
		return nil, err
	}
	switch p.Prompt[0].Text {
	case "stop with an escape sequence":
		return map[string]any{"stopReason": steering}, nil
	case "fail with an escape sequence":
		return nil, &jsonrpc2.Error{Code: 1, Message: steering}
	}
	return map[string]any{"stopReason": "end_turn"}, turns[p.Prompt[0].Text](a, ctx)
}

// say sends a message and a line's end after it.
func (a *testAgent) say(ctx context.Context, format string, args ...any) error {
	return a.conn.Notify(ctx, "session/update", map[string]any{"sessionId": "s", "update": map[string]any{
		"sessionUpdate": "agent_message_chunk",
		"content":       map[string]string{"type": "text", "text": fmt.Sprintf(format+"\n", args...)},
	}})
}

// command is a request for the test binary as a command.
func command(args ...string) acpterm.CreateTerminalRequest {
	return acpterm.CreateTerminalRequest{SessionID: "s", Command: os.Args[0], Args: append([]string{"command"}, args...)}
}

func (a *testAgent) killWhileWaiting(ctx context.Context) error {
	return a.client.Use(ctx, command("sleep"), func(t *agent.Terminal) error {
		ref := acpterm.TerminalRequest{SessionID: "s", TerminalID: t.ID()}
		wait, err := a.conn.DispatchCall(ctx, acpterm.MethodWaitForExit, ref)
		if err != nil {
			return err
		}
		if err := t.Kill(ctx); err != nil {
			return err
		}
		var status acpterm.TerminalExitStatus
		err = errors.Join(a.say(ctx, "killed"), wait.Wait(ctx, &status))
		return errors.Join(err, a.say(ctx, "waited: %s", status.Meta["acpterm"]))
	})
}

func (a *testAgent) cancelWaits(ctx context.Context) error {
	return a.client.Use(ctx, command("sleep"), func(t *agent.Terminal) error {
		ref := acpterm.TerminalRequest{SessionID: "s", TerminalID: t.ID()}
		for i := range 100 {
			id := jsonrpc2.ID{Str: fmt.Sprint("wait-", i), IsString: true}
			wait, err := a.conn.DispatchCall(ctx, acpterm.MethodWaitForExit, ref, jsonrpc2.PickID(id))
			if err != nil {
				return err
			}
			quoted, _ := json.Marshal(id)
			a.conn.Notify(ctx, "$/cancel_request", agent.CancelRequestNotification{RequestID: quoted})
			if err := a.sayError(ctx, wait.Wait(ctx, nil), "kind"); err != nil {
				return err
			}
		}
		out, err := t.Output(ctx)
		return errors.Join(err, a.say(ctx, "it runs on: %t", out.ExitStatus == nil))
	})
}

// sayError says the code of an answer and some members of its data.
func (a *testAgent) sayError(ctx context.Context, err error, members ...string) error {
	answer, ok := errors.AsType[*jsonrpc2.Error](err)
	if !ok || answer.Data == nil {
		return fmt.Errorf("an error with data was to come, not %v", err)
	}
	var data map[string]any
	json.Unmarshal(*answer.Data, &data)
	said := []any{answer.Code}
	for _, name := range members {
		said = append(said, data[name])
	}
	return a.say(ctx, "%s", strings.TrimSpace(fmt.Sprintln(said...)))
}

func (a *testAgent) unknownTerminal(ctx context.Context) error {
	ref := map[string]string{"sessionId": "s", "terminalId": "term_x"}
	for _, method := range []string{
		acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill, acpterm.MethodRelease,
	} {
		if err := a.sayError(ctx, a.conn.Call(ctx, method, ref, nil), "kind", "terminalId"); err != nil {
			return err
		}
	}
	return nil
}

func (a *testAgent) malformedParams(ctx context.Context) error {
	for _, call := range []struct {
		method string
		params any
	}{
		{acpterm.MethodCreate, map[string]any{"sessionId": "s"}},
		{acpterm.MethodCreate, map[string]any{"sessionId": "s", "command": "x", "cwd": "relative"}},
		{acpterm.MethodWaitForExit, map[string]any{"sessionId": "s", "terminalId": 7}},
		{acpterm.MethodKill, []any{"s"}},
		{acpterm.MethodRelease, nil},
	} {
		if err := a.sayError(ctx, a.conn.Call(ctx, call.method, call.params, nil), "kind", "field"); err != nil {
			return err
		}
	}
	return nil
}

func (a *testAgent) sayMuch(ctx context.Context) error {
	for i := range manyMessages {
		if err := a.say(ctx, "%d", i); err != nil {
			return err
		}
	}
	return a.say(ctx, "%s", longMessage)
}

func (a *testAgent) printNoise(ctx context.Context) error {
	for _, line := range []string{
		"a debugging print", "", "{", "null", "7", "[]", `[{"jsonrpc":"2.0","method":"x"}]`, `{"id":77,"result":{}}`, "\xff",
	} {
		if _, err := os.Stdout.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return a.unknownTerminal(ctx)
}

func (a *testAgent) readMuch(ctx context.Context) error {
	result, err := a.client.Run(ctx, command("print much"), agent.RunOptions{})
	return errors.Join(err, a.say(ctx, "%t %t", result.Output == longMessage, result.Truncated))
}

// leave has a command connect to the address that follows "agent" on the command line, and exits while it runs.
func (a *testAgent) leave(ctx context.Context) error {
	t, err := a.client.Create(ctx, command("dial", os.Args[2]))
	if err != nil {
		return err
	}
	for {
		if out, err := t.Output(ctx); err != nil || strings.Contains(out.Output, "ready") {
			os.Exit(3)
		}
	}
}

// serveRawAgent is an agent that has its requests answered under ids which jsonrpc2 would not send, and says those of
// the answers.
func serveRawAgent() {
	in := json.NewDecoder(os.Stdin)
	answer := func(id json.RawMessage, result string) {
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
	}
	for {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if in.Decode(&req) != nil {
			return
		}
		if req.Method != "session/prompt" {
			answer(req.ID, `{"sessionId":"s"}`)
			continue
		}
		for _, id := range rawIDs {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"method":"terminal/kill","params":{}}`+"\n", id)
			var got struct{ ID json.RawMessage }
			in.Decode(&got)
			said, _ := json.Marshal(string(got.ID) + "\n")
			fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk",`+
				`"content":{"type":"text","text":%s}}}}`+"\n", said)
		}
		answer(req.ID, `{"stopReason":"end_turn"}`)
	}
}

// runCommand is a command of a test.
func runCommand(args []string) {
	switch args[0] {
	case "hello":
		fmt.Println("hello from a command")
		return
	case "print much":
		os.Stdout.WriteString(longMessage)
		return
	case "dial":
		dial(args[1])
	}
	time.Sleep(time.Hour)
}
