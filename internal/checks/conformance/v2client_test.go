package conformance

// The client of testdata/tsagent/v2client.mjs, made from the official TypeScript SDK's ACP v2. Its agent is this
// program, which reports the terminals of a Manager.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
)

// trafficVariable names the file that the agent writes its messages to.
const trafficVariable = "ACPTERM_CONFORMANCE_TRAFFIC"

// The output of the agent's commands is generated from a seed, both in the command and in the test.
const (
	seedOfAll  = 1
	sizeOfAll  = 300_000
	seedOfEnd  = 2
	sizeOfEnd  = 1 << 20
	limitOfEnd = 10_000
	seedOfCall = 3
	sizeOfCall = 5000
)

// anyBytes returns bytes with characters, including invalid ones, that begin and end anywhere.
func anyBytes(seed uint64, size int) []byte {
	random := rand.New(rand.NewPCG(seed, 0))
	alphabet := []string{"a", "\r\n", "\x1b[31m", "é", "✓", "😀", "\xff", "\xe2\x9c", "\xf0", "\x80", "\x00"}
	var b bytes.Buffer
	for b.Len() < size {
		b.WriteString(alphabet[random.IntN(len(alphabet))])
	}
	return b.Bytes()[:size]
}

// printBytes is a command that prints anyBytes with a given seed and size, in pieces, and exits with 3.
func printBytes() {
	seed, size := must(strconv.Atoi(os.Args[3])), must(strconv.Atoi(os.Args[4]))
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for rest := anyBytes(uint64(seed), size); len(rest) > 0; {
		n := min(1+random.IntN(20_000), len(rest))
		os.Stdout.Write(rest[:n])
		rest = rest[n:]
	}
	os.Exit(3)
}

// waitForCancel is a command that ends only when it is cancelled.
func waitForCancel() {
	fmt.Print("cancel me")
	time.Sleep(time.Hour)
}

// hold is a command that ends only when its tool call is cancelled.
func hold() { time.Sleep(time.Hour) }

// reportingAgent is an ACP v2 agent on stdin and stdout.
type reportingAgent struct {
	manager *acpterm.Manager
	terms   *agent.Terminals
}

// serveReportingAgent is the main function of the agent.
func serveReportingAgent() {
	traffic := must(os.Create(os.Getenv(trafficVariable)))
	a := &reportingAgent{manager: must(acpterm.NewManager(nil))}
	stdio := agentproc.JoinStdio(os.Stdin, struct {
		io.Writer
		io.Closer
	}{io.MultiWriter(traffic, os.Stdout), os.Stdout})
	a.terms = agent.NewTerminals(a.manager, &agent.TerminalsOptions{
		Reporter: agent.ReporterOptions{KnowsSession: func(id acpterm.SessionID) bool { return id == "s1" }},
	})
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio), a.terms.Handler(a))
	<-conn.DisconnectNotify()
	if err := a.manager.Close(); err != nil {
		panic(err)
	}
}

// Handle implements jsonrpc2.Handler.
func (a *reportingAgent) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	reply := func(result any) { conn.Reply(ctx, req.ID, result) }
	switch req.Method {
	case "initialize":
		reply(map[string]any{
			"protocolVersion": 2, "info": map[string]string{"name": "acpterm", "version": "0"},
			"capabilities": map[string]any{"session": struct{}{}},
		})
	case "session/new":
		reply(map[string]string{"sessionId": "s1"})
	case "session/prompt":
		reply(map[string]string{"messageId": "m1"})
		go func() {
			a.reportTerminals(ctx, conn)
			a.idle(ctx, conn)
		}()
	case "session/resume":
		go func() {
			check(a.terms.Reporter().Replay(ctx, "s1"))
			a.idle(ctx, conn)
			reply(struct{}{})
		}()
	default:
		if !req.Notif {
			conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound})
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func (a *reportingAgent) notify(ctx context.Context, conn *jsonrpc2.Conn, update any) {
	check(conn.Notify(ctx, "session/update", map[string]any{"sessionId": "s1", "update": update}))
}

func (a *reportingAgent) idle(ctx context.Context, conn *jsonrpc2.Conn) {
	a.notify(ctx, conn, map[string]string{"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"})
}

func (a *reportingAgent) reportTerminals(ctx context.Context, conn *jsonrpc2.Conn) {
	requests := map[string]acpterm.CreateTerminalRequest{
		"all":  commandRequest("bytes", seedOfAll, sizeOfAll),
		"end":  commandRequest("bytes", seedOfEnd, sizeOfEnd),
		"wait": commandRequest("wait"),
		"none": commandRequest("bytes", 0, 0),
	}
	var reported []*acpterm.Terminal
	for name, request := range requests {
		if name == "end" {
			request.OutputByteLimit = new(uint64(limitOfEnd))
		}
		t := must(a.manager.Create(ctx, request, nil))
		reported = append(reported, t)
		a.notify(ctx, conn, map[string]any{
			"sessionUpdate": "tool_call_update", "toolCallId": name, "title": name,
			"content": []any{agent.Content{TerminalID: t.ID()}},
		})
		a.terms.Reporter().Report(t, &agent.ReportOptions{NotCancellable: name == "none"})
	}
	call := agent.ToolCall{ID: "call", Request: commandRequest("bytes", seedOfCall, sizeOfCall)}
	result, err := a.terms.Run(ctx, call)
	check(err)
	if result.Output != string([]rune(string(anyBytes(seedOfCall, sizeOfCall)))) {
		panic("the result has another output")
	}
	call = agent.ToolCall{ID: "held", Request: commandRequest("hold")}
	if _, err := a.terms.Run(ctx, call); !errors.Is(err, acpterm.ErrCancelled) {
		panic(fmt.Sprint("the client has not cancelled the tool call: ", err))
	}
	for _, t := range reported {
		must(t.Wait(ctx))
		check(a.terms.Reporter().Flush(ctx, t))
	}
}

// commandRequest returns a request for one of this program's commands.
func commandRequest(name string, args ...int) acpterm.CreateTerminalRequest {
	r := acpterm.CreateTerminalRequest{SessionID: "s1", Command: os.Args[0], Args: []string{commandMark, name}}
	for _, arg := range args {
		r.Args = append(r.Args, strconv.Itoa(arg))
	}
	return r
}

// clientReport is the output of the client.
type clientReport struct {
	Held, Resumed map[acpterm.TerminalID]held
	Cancelled     map[acpterm.TerminalID]json.RawMessage
	Again         []string
	Refused       map[string]any
	ToolCall      json.RawMessage
	ExitCode      *int
}

// runV2Client runs the client with this program as its agent, and returns its report. The agent's messages are checked
// against the schema.
func runV2Client(t *testing.T) (report clientReport) {
	t.Helper()
	cmd := typeScript(t, "v2client.mjs", must(os.Executable()), commandMark, "v2-agent")
	traffic := filepath.Join(t.TempDir(), "traffic")
	cmd.Env = append(os.Environ(), trafficVariable+"="+traffic)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	stop := time.AfterFunc(5*time.Minute, func() { cmd.Process.Kill() })
	defer stop.Stop()
	require.NoError(t, cmd.Run(), "%s", &stderr)
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &report), "%.2000s", &stdout)
	require.Equal(t, new(0), report.ExitCode, "%s", &stderr)

	s := loadSchemaFile(t, "terminal.v2.json")
	updates := 0
	take := func(m message) {
		require.Equal(t, "2.0", m.JSONRPC)
		switch {
		case m.Method == "session/update":
			updates++
			require.NoError(t, s.validate(t, "UpdateSessionNotification", m.Params), "%.500s", m.raw)
		case m.Error != nil:
			require.NoError(t, s.validate(t, "Error", m.Error), "%s", m.raw)
			var e struct {
				Code int
				Data json.RawMessage
			}
			require.NoError(t, json.Unmarshal(m.Error, &e))
			if e.Code == -32002 {
				require.NoError(t, s.validate(t, "SessionNotFoundErrorData", e.Data), "%s", m.raw)
			}
		}
	}
	file, err := os.Open(traffic)
	require.NoError(t, err)
	defer file.Close()
	_, err = bufio.NewReader(file).WriteTo(&messageLines{take: take})
	require.NoError(t, err)
	t.Logf("validated: %d session/update", updates)
	require.Empty(t, stderr.String(), "the SDK complained")
	return report
}

func TestV2ClientHoldsWhatWasWritten(t *testing.T) {
	t.Parallel()
	report := runV2Client(t)
	find := func(held map[acpterm.TerminalID]held, command ...any) (id acpterm.TerminalID) {
		suffix := strings.TrimSpace(fmt.Sprintln(command...))
		for one, term := range held {
			if strings.HasSuffix(*term.Command, suffix) {
				id = one
			}
		}
		require.NotEmpty(t, id, suffix)
		return id
	}
	require.Len(t, report.Held, 6)
	require.JSONEq(t, `{"answer":{},"again":false,"status":"cancelled"}`, string(report.ToolCall))
	require.Len(t, report.Resumed, 4, "the tool call's terminal is released")
	for what, all := range map[string]map[acpterm.TerminalID]held{"held": report.Held, "resumed": report.Resumed} {
		whole := all[find(all, "bytes", seedOfAll, sizeOfAll)]
		requireSame(t, string(anyBytes(seedOfAll, sizeOfAll)), string(whole.Output))
		end := string(all[find(all, "bytes", seedOfEnd, sizeOfEnd)].Output)
		require.GreaterOrEqual(t, len(end), limitOfEnd-3, what)
		requireSame(t, string(anyBytes(seedOfEnd, sizeOfEnd)[sizeOfEnd-len(end):]), end)
		require.Empty(t, all[find(all, "bytes", 0, 0)].Output)
		require.Equal(t, "cancel me", string(all[find(all, "wait")].Output))
		for id, term := range all {
			require.NotNil(t, term.ExitStatus, what)
			require.False(t, term.Cancellable, what)
			require.Equal(t, must(os.Getwd()), *term.Cwd)
			if id != find(all, "wait") && !strings.HasSuffix(*term.Command, "hold") {
				require.Equal(t, new(int64(3)), term.ExitStatus.ExitCode)
			} else if runtime.GOOS != "windows" {
				require.Equal(t, new("SIGTERM"), term.ExitStatus.Signal)
				require.Nil(t, term.ExitStatus.ExitCode)
			}
		}
	}
	call := report.Held[find(report.Held, "bytes", seedOfCall, sizeOfCall)]
	requireSame(t, string(anyBytes(seedOfCall, sizeOfCall)), string(call.Output))

	cancelled := map[acpterm.TerminalID]json.RawMessage{find(report.Held, "wait"): json.RawMessage("{}")}
	require.Equal(t, cancelled, report.Cancelled)
	require.Empty(t, report.Again)
	require.Len(t, report.Refused, 3+6)
	for what, code := range report.Refused {
		want := map[string]int{"session": -32002, "other": jsonrpc2.CodeMethodNotFound}[what]
		if want == 0 {
			want = jsonrpc2.CodeInvalidParams
		}
		require.EqualValues(t, want, code, what)
	}
}
