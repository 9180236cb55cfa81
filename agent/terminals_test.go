package agent_test

// Run of Terminals: the same result for each kind of client, and the updates that each one gets.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// initializes are the params of initialize for each kind of client. For "own", the agent runs the command itself, even
// though the client has terminals.
var initializes = map[string]string{
	"client": `{"protocolVersion":1,"clientCapabilities":{"terminal":true,"_meta":{"terminal_output":true}}}`,
	"output": `{"protocolVersion":1,"clientCapabilities":{"_meta":{"terminal_output":true}}}`,
	"delta":  `{"protocolVersion":1,"clientCapabilities":{"_meta":{"terminal_output":true,"terminal_output_delta":true}}}`,
	"own":    `{"protocolVersion":1,"clientCapabilities":{"terminal":true,"_meta":{"terminal_output":true}}}`,
	"text":   `{"protocolVersion":1,"clientCapabilities":{"_meta":{"terminal_output":"true"}}}`,
	"v2":     `{"protocolVersion":2,"info":{"name":"c","version":"1"},"clientCapabilities":{"terminal":true}}`,
}

// toolClient is a client of any kind, together with the agent's side of the connection.
type toolClient struct {
	t         *testing.T
	kind      string
	terminals *agent.Terminals
	conn      *jsonrpc2.Conn   // the agent's
	client    *jsonrpc2.Conn   // the client's
	manager   *acpterm.Manager // runs the commands
	mirror    *mirror
	updates   []string      // the session/updates that the client has read
	reads     chan struct{} // closed when the client reads
	limit     *uint64       // of the commands' output
	id        string        // of the tool calls; if empty, "call-1"
}

var scripts = acptermtest.Commands{
	"pass":   acptermtest.Print("one\ntwo\xff\n", 0),
	"fail":   acptermtest.Print("bad", 3),
	"fence":  acptermtest.Print("xxxa```b", 0),
	"silent": acptermtest.Print("", 0),
	"flood":  acptermtest.Print(strings.Repeat("0123456789", 100_000), 0),
	"block":  func(p *acptermtest.Process) int { fmt.Fprint(p, "begun\n"); acptermtest.Block(p); return 0 },
}

// initialized is an agent's handler that answers initialize.
var initialized = jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
	return nil, nil
})

// newToolClient connects a client. Its agent has its own Manager unless the client has terminals.
func newToolClient(t *testing.T, kind string, options *agent.TerminalsOptions) *toolClient {
	c := &toolClient{t: t, kind: kind, mirror: newMirror(t), reads: make(chan struct{})}
	close(c.reads)
	c.manager = acptermtest.NewManager(t, &acpterm.Options{Runner: scripts})
	own := c.manager
	if kind == "client" {
		own = nil
	}
	clientEnd, agentEnd := net.Pipe()
	h := acpterm.NewHandler(c.manager, &acpterm.HandlerOptions{Next: c})
	c.client = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(h.Filter(context.Background(), clientEnd)), h)
	c.terminals = agent.NewTerminals(own, options)
	c.conn = jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentEnd), c.terminals.Handler(initialized))
	require.NoError(t, c.client.Call(t.Context(), "initialize", json.RawMessage(initializes[kind]), nil))
	t.Cleanup(func() {
		c.client.Close()
		c.conn.Close()
		require.NoError(t, h.Close())
		synctest.Wait()
	})
	return c
}

// Handle is called by the reading goroutine.
func (c *toolClient) Handle(_ context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	select {
	case <-c.reads:
	case <-conn.DisconnectNotify():
		return
	}
	def := "SessionNotification"
	if c.kind == "v2" {
		def = "UpdateSessionNotification"
	}
	recordMessage(c.t, def, *req.Params)
	c.mirror.apply(*req.Params)
	c.updates = append(c.updates, string(decode[map[string]json.RawMessage](c.t, *req.Params)["update"]))
}

func (c *toolClient) run(ctx context.Context, command string, timeout time.Duration) (agent.ToolCallResult, error) {
	return c.terminals.Run(ctx, agent.ToolCall{ID: cmp.Or(c.id, "call-1"), Timeout: timeout, Own: c.kind == "own",
		Request: acpterm.CreateTerminalRequest{SessionID: "s", Command: command, Args: []string{"it"}, Cwd: "/src", OutputByteLimit: c.limit,
			Env: []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret"}}}})
}

// shown returns the tool call's status and output as the client shows them after it has read everything.
func (c *toolClient) shown() (status, output string) {
	synctest.Wait()
	for _, u := range c.updates {
		update := decode[struct {
			Status  string
			Content []struct {
				Type       string
				TerminalID acpterm.TerminalID
				Content    struct{ Text string }
			}
			Meta map[string]struct{ Data string } `json:"_meta"`
		}](c.t, []byte(u))
		if update.Status != "" {
			status = update.Status
		}
		output += update.Meta["terminal_output"].Data + update.Meta["terminal_output_delta"].Data
		for _, item := range update.Content {
			switch {
			case item.Type == "content":
				output = item.Content.Text
			case c.kind == "v2":
				defer func() { output = string(c.mirror.terminal(item.TerminalID).output) }()
			case c.kind == "client":
				output = "a terminal"
			default:
				require.Equal(c.t, acpterm.TerminalID("call-1"), item.TerminalID)
			}
		}
	}
	return status, output
}

// withToolClients runs a test with each kind of client.
func withToolClients(t *testing.T, test func(t *testing.T, c *toolClient)) {
	for kind := range initializes {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newToolClient(t, kind, nil)) })
		})
	}
}

func TestToolCallOfEachClient(t *testing.T) {
	withToolClients(t, func(t *testing.T, c *toolClient) {
		for _, want := range []struct {
			command, status, output, exit string
			outcome                       agent.Outcome
			shown                         map[string]string // by the kind of client; the default is output
		}{
			{"pass", "completed", "one\ntwo\uFFFD\n", "exit code 0", agent.Completed,
				map[string]string{"text": "```console\none\ntwo\uFFFD\n```", "v2": "one\ntwo\xff\n"}},
			{"fail", "failed", "bad", "exit code 3", agent.Completed, map[string]string{"text": "```console\nbad\n```"}},
			{"silent", "completed", "", "exit code 0", agent.Completed, map[string]string{"text": "```console\n```"}},
			{"block", "failed", "begun\n", "signal SIGTERM", agent.TimedOut,
				map[string]string{"text": "```console\nbegun\n```"}},
		} {
			c.updates = nil
			begin := time.Now()
			result, err := c.run(t.Context(), want.command, time.Minute)
			require.NoError(t, err)
			require.Equal(t, want.outcome, result.Outcome)
			require.Equal(t, want.output, result.Output)
			require.Equal(t, want.exit, result.ExitStatus.String())
			require.NotEmpty(t, result.TerminalID)
			require.Len(t, result.Content, 1)
			if want.outcome == agent.TimedOut {
				require.Equal(t, time.Minute, time.Since(begin))
			}
			require.Empty(t, c.manager.Terminals(), "it is released")
			status, output := c.shown()
			require.Equal(t, want.status, status)
			expected, ok := want.shown[c.kind]
			switch {
			case c.kind == "client":
				expected = "a terminal"
			case !ok:
				expected = want.output
			}
			require.Equal(t, expected, output)
			require.NotContains(t, strings.Join(c.updates, ""), "secret")
		}
	})
}

func TestUpdatesOfAToolCall(t *testing.T) {
	const (
		begin = `"toolCallId":"call-1","title":"fail it","kind":"execute","status":"in_progress"`
		input = `"rawInput":{"command":"fail it","cwd":"/src"}`
		fails = `{"sessionUpdate":"tool_call_update","toolCallId":"call-1","status":"failed"`
	)
	change := func(rest string) string {
		return `{"sessionUpdate":"tool_call_update","toolCallId":"call-1",` + rest + `}`
	}
	meta := []string{
		`{"sessionUpdate":"tool_call",` + begin + `,"content":[{"type":"terminal","terminalId":"call-1"}],` + input +
			`,"_meta":{"terminal_info":{"terminal_id":"call-1","cwd":"/src"}}}`,
		change(`"_meta":{"terminal_output":{"terminal_id":"call-1","data":"bad"}}`),
		change(`"_meta":{"terminal_exit":{"terminal_id":"call-1","exit_code":3,"signal":null}}`),
		fails + `}`,
	}
	want := map[string][]string{
		"client": {
			`{"sessionUpdate":"tool_call",` + begin + `,` + input + `}`,
			change(`"content":[{"type":"terminal","terminalId":"term_1"}]`),
			fails + `}`,
		},
		"output": meta,
		"own":    meta,
		"text": {
			`{"sessionUpdate":"tool_call",` + begin + `,` + input + `}`,
			fails + `,"content":[{"type":"content","content":{"type":"text","text":"` + "```console\\nbad\\n```" + `"}}]}`,
		},
	}
	for _, u := range meta {
		want["delta"] = append(want["delta"], strings.ReplaceAll(u, `"terminal_output"`, `"terminal_output_delta"`))
	}
	withToolClients(t, func(t *testing.T, c *toolClient) {
		result, err := c.run(t.Context(), "fail", 0)
		require.NoError(t, err)
		synctest.Wait()
		got := slices.Clone(c.updates)
		for i, u := range got {
			got[i] = strings.ReplaceAll(u, string(result.TerminalID), "term_1")
		}
		if c.kind == "v2" { // the first output may be a snapshot or a chunk
			require.JSONEq(t, change(begin[len(`"toolCallId":"call-1",`):]+`,`+input+`,"capabilities":{"cancel":{}}`), got[0])
			require.JSONEq(t, change(`"content":[{"type":"terminal","terminalId":"term_1"}]`), got[1])
			require.JSONEq(t, `{"sessionUpdate":"terminal_update","terminalId":"term_1","capabilities":null,"exitStatus":
				{"exitCode":3,"signal":null,"_meta":{"acpterm":{"endedBy":"finished"}}}}`, got[len(got)-2])
			require.JSONEq(t, fails+`,"capabilities":null}`, got[len(got)-1])
			return
		}
		require.Len(t, got, len(want[c.kind]))
		for i, u := range want[c.kind] {
			require.JSONEq(t, u, got[i])
		}
	})
}

// If the command cannot be created, the tool call fails and shows why.
func TestToolCallThatCannotBeCreated(t *testing.T) {
	withToolClients(t, func(t *testing.T, c *toolClient) {
		result, err := c.run(t.Context(), "missing", 0)
		require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
		require.Empty(t, result.Outcome)
		require.Empty(t, result.TerminalID)
		status, output := c.shown()
		require.Equal(t, "failed", status)
		require.Equal(t, err.Error(), output)
		if c.kind == "output" || c.kind == "own" {
			require.Contains(t, strings.Join(c.updates, ""),
				`"terminal_exit":{"exit_code":null,"signal":null,"terminal_id":"call-1"}`)
		}
	})
}

// The end of the context ends the command and the tool call.
func TestToolCallIsCancelled(t *testing.T) {
	withToolClients(t, func(t *testing.T, c *toolClient) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		result, err := c.run(ctx, "block", 0)
		require.ErrorIs(t, err, acpterm.ErrCancelled)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		require.Empty(t, result.Outcome)
		want := "failed"
		if c.kind == "v2" {
			want = "cancelled"
		}
		status, _ := c.shown()
		require.Equal(t, want, status)
		require.Empty(t, c.manager.Terminals())
	})
}

// Even if the client never reads, the command runs, and Run returns its result after the grace. Completely unread tool
// calls do not pile up.
func TestToolCallsOfAClientThatDoesNotRead(t *testing.T) {
	withToolClients(t, func(t *testing.T, c *toolClient) {
		if c.kind == "client" {
			return // this client cannot run a command without reading
		}
		c.reads = make(chan struct{})
		for _, id := range []string{"call-1", "call-2", "call-3", "call-4"} {
			c.id = id
			begin := time.Now()
			result, err := c.run(t.Context(), "pass", 0)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "no answer within 10s")
			require.Equal(t, 10*time.Second, time.Since(begin))
			require.Equal(t, agent.Completed, result.Outcome)
			require.Equal(t, "one\ntwo\uFFFD\n", result.Output)
		}
		synctest.Wait()
		require.Empty(t, c.updates)
		close(c.reads)
		status, _ := c.shown()
		require.Equal(t, "completed", status)
		all := strings.Join(c.updates, "")
		require.Contains(t, all, "call-1")
		// One message may be in the connection, and another one in the process of being written.
		require.NotContains(t, all, "call-3")
		require.NotContains(t, all, "call-4")
		if c.kind == "v2" {
			require.Len(t, c.mirror.terminals, 1)
		}
	})
}

// A text reports dropped output, and its fence is longer than the fences in the output.
func TestToolCallAsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToolClient(t, "text", nil)
		c.limit = new(uint64(5))
		result, err := c.run(t.Context(), "fence", 0)
		require.NoError(t, err)
		require.True(t, result.Truncated)
		_, output := c.shown()
		require.Equal(t, "````console\n[the beginning of the output is not shown]\na```b\n````", output)
	})
}

// A client of v1 is told how many bytes of output it missed.
func TestToolCallSaysWhatIsMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToolClient(t, "output", nil)
		c.reads = make(chan struct{})
		c.limit = new(uint64(100))
		_, err := c.run(t.Context(), "flood", 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(c.reads)
		_, output := c.shown()
		note := regexp.MustCompile(`\n\[(\d+) bytes of output are not shown\]\n`)
		missed := 0
		for _, found := range note.FindAllStringSubmatch(output, -1) {
			n, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			missed += n
		}
		require.Positive(t, missed)
		require.Equal(t, 1_000_000, missed+len(note.ReplaceAllString(output, "")))
	})
}

func TestToolCallOfAClosedConnection(t *testing.T) {
	withToolClients(t, func(t *testing.T, c *toolClient) {
		c.conn.Close()
		_, err := c.run(t.Context(), "pass", 0)
		require.ErrorIs(t, err, jsonrpc2.ErrClosed)
		require.Empty(t, c.manager.Terminals())
	})
}

func TestTerminalsWithoutAnyTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts := agent.NewTerminals(nil, nil)
		_, client := connect(t, ts.Handler(nil), nil)
		run := func(own bool) error {
			_, err := ts.Run(t.Context(), agent.ToolCall{ID: "call-1", Request: request, Own: own})
			return err
		}
		var refused *acpterm.CapabilityError
		require.ErrorAs(t, run(false), &refused, "before initialize")
		var wire *jsonrpc2.Error
		require.ErrorAs(t, client.Call(t.Context(), "initialize", 7, nil), &wire)
		require.EqualValues(t, jsonrpc2.CodeInvalidParams, wire.Code)
		require.ErrorAs(t, run(false), &refused, "after an initialize that failed")
		for _, kind := range []string{"v2", "client"} {
			err := client.Call(t.Context(), "initialize", json.RawMessage(initializes[kind]), nil)
			require.ErrorAs(t, err, &wire)
			require.EqualValues(t, jsonrpc2.CodeMethodNotFound, wire.Code, "no handler has it")
			require.ErrorIs(t, run(true), acpterm.ErrInternal)
			if kind == "v2" {
				require.ErrorAs(t, run(false), &refused)
			}
		}
	})
}

// An agent of v1 treats a client of both versions as a client of v1.
func TestTerminalsOfAnAgentOfVersion1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newToolClient(t, "v2", &agent.TerminalsOptions{ProtocolVersion: 1})
		c.kind = "client"
		_, err := c.run(t.Context(), "pass", 0)
		require.NoError(t, err)
		_, output := c.shown()
		require.Equal(t, "a terminal", output)
	})
}

// A command ends when its client disconnects.
func TestToolCallOfAClientThatGoes(t *testing.T) {
	withToolClients(t, func(t *testing.T, c *toolClient) {
		time.AfterFunc(time.Minute, func() { c.client.Close() })
		begin := time.Now()
		result, err := c.run(t.Context(), "block", time.Hour)
		// A client with terminals may answer ErrClosing before the connection ends.
		if c.kind != "client" || !errors.Is(err, acpterm.ErrClosing) {
			require.ErrorIs(t, err, jsonrpc2.ErrClosed)
		}
		require.Equal(t, time.Minute, time.Since(begin))
		require.Empty(t, result.Outcome)
		if c.kind != "client" { // that kind of client owns the manager
			require.NotEmpty(t, result.TerminalID)
			require.Empty(t, c.manager.Terminals())
		}
	})
}
