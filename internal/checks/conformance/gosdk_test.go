package conformance

// An agent made with the official Go SDK, github.com/coder/acp-go-sdk, on the other end of two pipes. It runs commands
// in its turn, and the test plays the part of its mind. Data that the SDK keeps to itself is read from the pipes.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/mcpserver"
	acp "github.com/coder/acp-go-sdk"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// commandMark, as the first argument, makes this program one of the commands. The next argument is its name.
const commandMark = "acpterm-conformance-command"

// commands are the commands run in the terminals.
var commands = map[string]func(){
	// lines prints lines until it is ended.
	"lines": func() {
		for n := 1; ; n++ {
			fmt.Println("line", n)
			time.Sleep(10 * time.Millisecond)
		}
	},
	// megabyte prints the megabyte in pieces that may end anywhere, also inside characters.
	"megabyte": func() {
		for rest := megabyte(); len(rest) > 0; {
			n := min(65_521, len(rest))
			os.Stdout.WriteString(rest[:n])
			rest = rest[n:]
			time.Sleep(10 * time.Millisecond) // so that polls see partial output
		}
	},
	"bytes":    printBytes,
	"wait":     waitForCancel,
	"hold":     hold,
	"v2-agent": serveReportingAgent,
}

func TestMain(m *testing.M) {
	mcpserver.RunRelay()
	if len(os.Args) > 2 && os.Args[1] == commandMark {
		commands[os.Args[2]]()
		os.Exit(0)
	}
	racetest.Restart()
	// The programs run by the parallel tests wait for each other, too.
	if err := flag.Set("test.parallel", strconv.Itoa(2+runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// megabyte returns exactly one MiB of text that JSON, a terminal, or a line reader treats specially. The SDK does not
// read lines beyond 10 MiB; even escaped, this is well below.
func megabyte() string {
	var b strings.Builder
	for n := 0; b.Len() < 1<<20-200; n++ {
		fmt.Fprintf(&b, "\x1b[3%dm%d\x1b[0m\t\"quoted\" 'too' \\ / \\u0041 <&> é ✓ 😀 \u2028\u2029\x7f\x00\r\n", n%8, n)
	}
	return b.String() + strings.Repeat("x", 1<<20-b.Len())
}

// goAgent is an agent made with the SDK. It answers a prompt when the test tells it to.
type goAgent struct {
	acp.Agent // nil: no client here uses its other methods

	turns chan goTurn
	gone  chan struct{} // closed at the end of the test
}

// goTurn is an unanswered prompt.
type goTurn struct {
	ctx     context.Context // the SDK's, which ends when the client cancels the turn
	session acp.SessionId
	over    chan acp.StopReason
}

func (a *goAgent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (a *goAgent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *goAgent) Cancel(context.Context, acp.CancelNotification) error { return nil }

func (a *goAgent) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	turn := goTurn{ctx, p.SessionId, make(chan acp.StopReason)}
	select {
	case a.turns <- turn:
	case <-a.gone:
	}
	select {
	case reason := <-turn.over:
		return acp.PromptResponse{StopReason: reason}, nil
	case <-a.gone:
		return acp.PromptResponse{StopReason: acp.StopReasonCancelled}, nil
	}
}

// conversation is a client with an agent made with the SDK, in a turn.
type conversation struct {
	t      testing.TB
	client *jsonrpc2.Conn
	agent  *acp.AgentSideConnection
	turn   goTurn
	prompt jsonrpc2.Waiter

	sent, received chan wireMessage // messages from and to the agent that concern waits
}

// converse begins a conversation. It ends with the test, which fails if anything is left then.
func converse(t testing.TB) *conversation {
	t.Helper()
	fromAgent, toClient, err := os.Pipe()
	require.NoError(t, err)
	fromClient, toAgent, err := os.Pipe()
	require.NoError(t, err)

	dir := t.TempDir()
	m := must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Dir: dir}}))
	h := acpterm.NewHandler(m, nil)
	client := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(agentproc.JoinStdio(fromAgent, toAgent)), h)

	c := &conversation{t: t, client: client, sent: make(chan wireMessage, 100), received: make(chan wireMessage, 100)}
	agent := &goAgent{turns: make(chan goTurn), gone: make(chan struct{})}
	c.agent = acp.NewAgentSideConnection(agent,
		io.MultiWriter(toClient, &wire{messages: c.sent}), io.TeeReader(fromClient, &wire{messages: c.received}))
	var complaints bytes.Buffer
	c.agent.SetLogger(slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelWarn})))

	t.Cleanup(func() {
		close(agent.gone)
		toClient.Close()
		<-client.DisconnectNotify()
		<-c.agent.Done()
		fromClient.Close()
		require.NoError(t, h.Close())
		require.NoError(t, m.Close())
		requireNoGoroutines(t)
		require.Empty(t, complaints.String(), "the SDK complained")
	})

	var version struct{ ProtocolVersion int }
	require.NoError(t, client.Call(t.Context(), "initialize", map[string]any{
		"protocolVersion": acp.ProtocolVersionNumber, "clientCapabilities": h.Capabilities(),
	}, &version))
	require.Equal(t, acp.ProtocolVersionNumber, version.ProtocolVersion)
	var session struct{ SessionID string }
	require.NoError(t, client.Call(t.Context(), "session/new", map[string]any{
		"cwd": dir, "mcpServers": []any{},
	}, &session))
	c.prompt, err = client.DispatchCall(t.Context(), "session/prompt", map[string]any{
		"sessionId": session.SessionID, "prompt": []any{map[string]string{"type": "text", "text": "go"}},
	})
	require.NoError(t, err)
	c.turn = <-agent.turns
	return c
}

// requireNoGoroutines fails if a goroutine runs code of the library, of jsonrpc2 or of the SDK. A finished goroutine
// may take a moment to exit.
func requireNoGoroutines(t testing.TB) {
	t.Helper()
	var found []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		buf := make([]byte, 1<<20)
		found = nil
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			for _, code := range []string{"acpterm/acpterm.", "sourcegraph/jsonrpc2.", "coder/acp-go-sdk."} {
				if strings.Contains(stack, "github.com/"+code) {
					found = append(found, stack)
				}
			}
		}
		if found == nil {
			return
		}
	}
	require.Empty(t, found, "goroutines are left")
}

// finish makes the agent end the turn.
func (c *conversation) finish(reason acp.StopReason) {
	c.t.Helper()
	c.turn.over <- reason
	var answer acp.PromptResponse
	require.NoError(c.t, c.prompt.Wait(c.t.Context(), &answer))
	require.Equal(c.t, reason, answer.StopReason)
}

// wireMessage holds the checked parts of a message.
type wireMessage struct {
	ID     json.RawMessage
	Method string
	Params struct{ RequestID json.RawMessage }
	Error  *jsonrpc2.Error
}

// wire receives the bytes written to one of the pipes, and forwards messages about waits, their cancellation and their
// failure.
type wire struct {
	messages chan<- wireMessage
	line     []byte
}

func (w *wire) Write(p []byte) (int, error) {
	for piece := range bytes.Lines(p) {
		if w.line = append(w.line, piece...); !bytes.HasSuffix(w.line, []byte("\n")) {
			break
		}
		var m wireMessage
		// Longer messages contain output.
		if len(w.line) < 4096 && json.Unmarshal(w.line, &m) == nil &&
			(m.Method == acpterm.MethodWaitForExit || m.Method == "$/cancel_request" || m.Error != nil) {
			w.messages <- m
		}
		w.line = w.line[:0]
	}
	return len(p), nil
}

// goTerminal is a terminal created by the agent.
type goTerminal struct {
	*conversation
	id string
}

func (c *conversation) create(command string, limit *int) goTerminal {
	c.t.Helper()
	created, err := c.agent.CreateTerminal(c.t.Context(), acp.CreateTerminalRequest{
		SessionId: c.turn.session, Command: os.Args[0], Args: []string{commandMark, command}, OutputByteLimit: limit,
	})
	require.NoError(c.t, err)
	return goTerminal{c, created.TerminalId}
}

func (t goTerminal) output() acp.TerminalOutputResponse {
	t.t.Helper()
	out, err := t.agent.TerminalOutput(t.t.Context(), acp.TerminalOutputRequest{SessionId: t.turn.session, TerminalId: t.id})
	require.NoError(t.t, err)
	return out
}

// exit is the result of a wait.
type exit struct {
	acp.WaitForTerminalExitResponse
	err error
}

// beginWait makes the agent wait for the command's end. It returns when the client has received the request, with the
// request's id.
func (t goTerminal) beginWait(ctx context.Context) (id json.RawMessage, ended <-chan exit) {
	t.t.Helper()
	done := make(chan exit, 1)
	go func() {
		response, err := t.agent.WaitForTerminalExit(ctx, acp.WaitForTerminalExitRequest{
			SessionId: t.turn.session, TerminalId: t.id,
		})
		done <- exit{response, err}
	}()
	asked := <-t.sent
	require.Equal(t.t, acpterm.MethodWaitForExit, asked.Method)
	t.output() // requests are read in order, so the client has received the wait
	return asked.ID, done
}

func (t goTerminal) release() {
	t.t.Helper()
	_, err := t.agent.ReleaseTerminal(t.t.Context(), acp.ReleaseTerminalRequest{SessionId: t.turn.session, TerminalId: t.id})
	require.NoError(t.t, err)
}

// When the context of a call ends, the SDK sends $/cancel_request, returns its own error immediately, and drops the
// later answer. The wire shows that this is the right answer; that the SDK drops it shows in everything that still
// works.
func TestGoSDKCancelsAWait(t *testing.T) {
	cases := map[string]struct {
		cancel func(c *conversation, call context.CancelCauseFunc)
		code   int // of the SDK's own error
		reason acp.StopReason
	}{
		"the call is cancelled": {
			cancel: func(_ *conversation, call context.CancelCauseFunc) { call(nil) },
			code:   -32800,
			reason: acp.StopReasonEndTurn,
		},
		"the call is cancelled for a reason": { // the SDK turns the reason into an internal error
			cancel: func(_ *conversation, call context.CancelCauseFunc) { call(errors.New("took too long")) },
			code:   jsonrpc2.CodeInternalError,
			reason: acp.StopReasonEndTurn,
		},
		"the turn is cancelled": {
			cancel: func(c *conversation, _ context.CancelCauseFunc) {
				require.NoError(c.t, c.client.Notify(c.t.Context(), "session/cancel", map[string]any{"sessionId": c.turn.session}))
			},
			code:   -32800,
			reason: acp.StopReasonCancelled,
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			c := converse(t)
			term := c.create("lines", nil)
			_, uncancelled := term.beginWait(t.Context())
			ctx, cancel := context.WithCancelCause(c.turn.ctx)
			defer cancel(nil)
			id, cancelled := term.beginWait(ctx)

			test.cancel(c, cancel)
			var own *acp.RequestError
			require.ErrorAs(t, (<-cancelled).err, &own)
			require.Equal(t, test.code, own.Code)
			notification := <-c.sent
			require.Equal(t, "$/cancel_request", notification.Method)
			require.Equal(t, string(id), string(notification.Params.RequestID))
			answer := <-c.received
			require.Equal(t, string(id), string(answer.ID))
			require.NotNil(t, answer.Error)
			require.EqualValues(t, -32800, answer.Error.Code)
			var data struct{ Kind acpterm.Kind }
			require.NoError(t, json.Unmarshal(*answer.Error.Data, &data))
			require.Equal(t, acpterm.ErrCancelled, data.Kind)

			// Nothing else noticed.
			before := term.output()
			require.Nil(t, before.ExitStatus)
			after := term.output()
			for ; len(after.Output) <= len(before.Output); after = term.output() {
				require.Nil(t, after.ExitStatus)
			}
			require.True(t, strings.HasPrefix(after.Output, before.Output))
			_, err := c.agent.KillTerminal(t.Context(), acp.KillTerminalRequest{SessionId: c.turn.session, TerminalId: term.id})
			require.NoError(t, err)
			ended := <-uncancelled
			require.NoError(t, ended.err)
			require.False(t, ended.ExitCode == nil && ended.Signal == nil)
			_, again := term.beginWait(t.Context())
			require.Equal(t, ended, <-again)
			status := term.output().ExitStatus
			require.NotNil(t, status)
			require.Equal(t, ended.WaitForTerminalExitResponse, acp.WaitForTerminalExitResponse(*status))
			term.release()
			c.finish(test.reason)
			require.Empty(t, c.sent)
			require.Empty(t, c.received)
		})
	}
}

func TestGoSDKPollsAMegabyte(t *testing.T) {
	whole := megabyte()
	require.Len(t, whole, 1<<20)
	limit := 1<<20 - 1000
	end := whole[1000:]
	for !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	cases := map[string]struct {
		limit     *int
		want      string
		truncated bool
		polls     int // after the end; few, because the SDK takes a third of a second for each under -race
	}{
		"whole":     {want: whole, polls: longtest.Times(0, 3)},
		"truncated": {limit: &limit, want: end, truncated: true},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			c := converse(t)
			term := c.create("megabyte", test.limit)
			_, ended := term.beginWait(t.Context())
			out := term.output()
			for ; out.ExitStatus == nil; out = term.output() {
				if !out.Truncated {
					requireSame(t, whole[:min(len(out.Output), len(whole))], out.Output)
				}
			}
			exited := <-ended
			require.NoError(t, exited.err)
			require.Equal(t, new(0), exited.ExitCode)

			check := func(out acp.TerminalOutputResponse) {
				requireSame(t, test.want, out.Output)
				require.Equal(t, test.truncated, out.Truncated)
				require.NotNil(t, out.ExitStatus)
				require.Equal(t, exited.WaitForTerminalExitResponse, acp.WaitForTerminalExitResponse(*out.ExitStatus))
			}
			check(out)
			for range test.polls {
				check(term.output())
			}
			// At once, too, as an agent does that shows several tool calls.
			polls := make([]acp.TerminalOutputResponse, 2)
			errs := make([]error, len(polls))
			var polling sync.WaitGroup
			for i := range polls {
				polling.Go(func() {
					request := acp.TerminalOutputRequest{SessionId: c.turn.session, TerminalId: term.id}
					polls[i], errs[i] = c.agent.TerminalOutput(t.Context(), request)
				})
			}
			polling.Wait()
			for i := range polls {
				require.NoError(t, errs[i])
				check(polls[i])
			}
			term.release()
			c.finish(acp.StopReasonEndTurn)
		})
	}
}

// requireSame is require.Equal for long texts. It reports only where they begin to differ.
func requireSame(t *testing.T, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	near := func(text string) string { return text[max(0, at-20):min(len(text), at+20)] }
	require.Failf(t, "texts differ", "at byte %d of %d and %d: want %q, got %q", at, len(want), len(got), near(want), near(got))
}

// must returns value, or panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
