package main

// The editor with a real connection and real commands, which are the test binary itself. The test is the agent and the
// user.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/cmd/exampleagent"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/mcpserver"
	"github.com/acpterm/acpterm/policy"
)

func TestMain(m *testing.M) {
	mcpserver.RunRelay()
	if len(os.Args) > 1 {
		if command, ok := parts()[os.Args[1]]; ok {
			command()
			return
		}
	}
	racetest.Restart()
	os.Exit(m.Run())
}

// parts are what the test binary is besides: the commands that agents run, and agents.
func parts() map[string]func() {
	return map[string]func(){
		"greet": func() { fmt.Println("hello") },
		"flood": func() { fmt.Print(strings.Repeat("0123456789abcde\n", 1<<17), "end") },
		"stay": func() { // whatever asks it to end
			signal.Ignore(syscall.SIGTERM)
			signal.Notify(make(chan os.Signal, 1), os.Interrupt)
			fmt.Println("ready")
			time.Sleep(time.Hour)
		},
		"tail": func() { // the last line is wide and long
			fmt.Print("gone\n", strings.Repeat("進", 150), "\n\n")
			time.Sleep(time.Hour)
		},
		"linger": func() {
			fmt.Println("ready")
			time.Sleep(time.Hour)
		},
		"steer": func() { fmt.Print("\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m\a\u202e\n 10%\r 99%\n") },
		"main": func() {
			os.Args = os.Args[:1]
			main()
		},
		asExampleAgent: exampleagent.Serve,
		"dying-agent":  func() { serveAgent(dyingTurn) },
		"busy-agent":   func() { serveAgent(busyTurn) },
		"tools-agent":  serveToolsAgent,
	}
}

// user is the UI. Questions get the next of the answers; without one they wait until they are withdrawn.
type user struct {
	answers   chan int
	asked     chan Dialog
	said      chan string
	calls     chan ToolCall
	withdrawn chan struct{}
	drawn     chan *Pane
	title     atomic.Value
	draw      func(*Pane) // in place of drawn, if it is not nil
}

func (u *user) Draw(p *Pane) {
	if u.draw != nil {
		u.draw(p)
		return
	}
	select {
	case u.drawn <- p:
	default: // one that nobody has looked at is enough
	}
}

func (u *user) Ask(ctx context.Context, d Dialog) int {
	u.asked <- d
	select {
	case answer := <-u.answers:
		return answer
	case <-ctx.Done():
		close(u.withdrawn)
		return runOnce // too late
	}
}

func (u *user) Say(_ speaker, text string) { u.said <- text }
func (u *user) ShowToolCall(call ToolCall) { u.calls <- call }
func (u *user) Title(name string)          { u.title.Store(name) }
func (u *user) Log(string)                 {}

// Buttons of the manager's questions, and of the agent's in these tests.
const (
	runOnce = iota
	runInSession
	refuse
)

// fixture is an editor with one agent, in one conversation.
type fixture struct {
	*testing.T
	*user
	editor  *Editor
	project string
	talk    *Conversation
	agent   *jsonrpc2.Conn
	run     func(command string) (acpterm.TerminalID, error)
	servers []*mcpserver.Entry // of session/new
}

func newFixture(t *testing.T, rules policy.Rules) *fixture { return newFixtureWith(t, rules, nil, nil) }

// newFixtureWith calls prepare with the editor, unless it is nil, and gives the agent capabilities.
func newFixtureWith(
	t *testing.T, rules policy.Rules, prepare func(*Editor) error, capabilities map[string]any,
) *fixture {
	u := &user{answers: make(chan int, 9), asked: make(chan Dialog, 9), said: make(chan string, 9),
		calls: make(chan ToolCall, 9), withdrawn: make(chan struct{}), drawn: make(chan *Pane, 1)}
	e, err := New(u, rules)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Quit(t.Context())) })
	if prepare != nil {
		require.NoError(t, prepare(e))
	}
	project, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)

	var session struct{ MCPServers []*mcpserver.Entry }
	ours, theirs := pipes(t)
	agent := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(theirs), jsonrpc2.HandlerWithError(
		func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			if req.Method == "session/new" {
				require.NoError(t, json.Unmarshal(*req.Params, &session))
			}
			return map[string]any{"sessionId": "s1", "protocolVersion": 1, "agentCapabilities": capabilities,
				"stopReason": "end_turn"}, nil
		}))
	t.Cleanup(func() { agent.Close() })
	talk := e.Connect(ours)
	require.NoError(t, talk.Open(t.Context(), project))
	run := func(command string) (acpterm.TerminalID, error) {
		var created acpterm.CreateTerminalResponse
		err := agent.Call(t.Context(), acpterm.MethodCreate,
			acpterm.CreateTerminalRequest{SessionID: "s1", Command: executable(t), Args: []string{command}}, &created)
		return created.TerminalID, err
	}
	return &fixture{T: t, user: u, editor: e, project: project, talk: talk, agent: agent, run: run,
		servers: session.MCPServers}
}

// pipes are both ends of a connection. Those of net.Pipe would hand over each long message in many small pieces.
func pipes(t *testing.T) (one, other io.ReadWriteCloser) {
	fromOther, toOne, err := os.Pipe()
	require.NoError(t, err)
	fromOne, toOther, err := os.Pipe()
	require.NoError(t, err)
	return agentproc.JoinStdio(fromOther, toOther), agentproc.JoinStdio(fromOne, toOne)
}

func executable(t testing.TB) string {
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// allow are rules under which this needs no question.
func allow(t *testing.T) policy.Rules {
	return policy.Rules{Rules: []policy.Rule{{Name: "tests", Verdict: acpterm.VerdictAllow, Program: executable(t)}}}
}

// update has the agent send a session/update.
func (f *fixture) update(session string, fields map[string]any) {
	params := map[string]any{"sessionId": session, "update": fields}
	require.NoError(f, f.agent.Notify(f.Context(), "session/update", params))
}

// awaitDrawn returns when the pane has been drawn and is as it should be.
func (f *fixture) awaitDrawn(p *Pane, is func(text, state string) bool) {
	f.Helper()
	for {
		text, _ := p.Text()
		if is(text, p.State()) {
			return
		}
		select {
		case <-f.drawn:
		case <-f.Context().Done():
			f.Fatal("it never was: " + text)
		}
	}
}

func TestOutputIsShownAndStays(t *testing.T) {
	f := newFixture(t, allow(t))
	id, err := f.run("greet")
	require.NoError(t, err)
	p := f.editor.Pane("s1", id)
	f.awaitDrawn(p, func(text, state string) bool {
		return text == "hello\n" && state == "finished, exit code 0"
	})

	release := acpterm.TerminalRequest{SessionID: "s1", TerminalID: id}
	require.NoError(t, f.agent.Call(t.Context(), acpterm.MethodRelease, release, nil))
	text, missed := f.editor.Pane("s1", id).Text()
	require.Equal(t, "hello\n", text)
	require.Zero(t, missed)
	require.NoError(t, f.talk.Close(t.Context()))
	require.Nil(t, f.editor.Pane("s1", id))
}

// The first Draw takes until the command has ended: it must end all the same, and nothing be drawn that is not
// accounted for.
func TestASlowViewSlowsNothing(t *testing.T) {
	f := newFixture(t, allow(t))
	f.draw = func(p *Pane) {
		<-p.terminal.Done()
		select {
		case f.drawn <- p:
		default:
		}
	}
	id, err := f.run("flood")
	require.NoError(t, err)
	p := f.editor.Pane("s1", id)
	<-p.terminal.Done()
	require.EqualValues(t, 2<<20+3, p.terminal.OutputTotal())
	f.awaitDrawn(p, func(text, _ string) bool { return strings.HasSuffix(text, "abcde\nend") })
	text, missed := p.Text()
	require.Len(t, text, paneBytes)
	require.Greater(t, missed, int64(900<<10)) // the terminal keeps 1 MiB of the 2, and the view had none of it yet
}

func TestTheStopButtonPressedTwice(t *testing.T) {
	f := newFixture(t, allow(t))
	id, err := f.run("stay")
	require.NoError(t, err)
	p := f.editor.Pane("s1", id)
	f.awaitDrawn(p, func(text, _ string) bool { return text == "ready\n" })
	p.Stop()
	p.Stop()
	<-p.terminal.Done()
	require.Equal(t, acpterm.EndedByKill, p.terminal.EndedBy())
	require.Equal(t, "SIGKILL", *p.terminal.Output().ExitStatus.Signal)
}

func TestTheUserIsAskedOnceAConversation(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	f.answers <- refuse
	_, err := f.run("greet")
	require.ErrorContains(t, err, "it was not approved")
	require.Contains(t, (<-f.asked).Text, fmt.Sprintf("\ndirectory  %q\n", f.project))

	f.answers <- runInSession
	for range 2 { // the second time nobody is there to answer
		_, err = f.run("greet")
		require.NoError(t, err)
	}
	require.Len(t, f.asked, 1)
}

func TestACancelledRequestTakesItsDialogAway(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	waiting, err := f.agent.DispatchCall(t.Context(), acpterm.MethodCreate,
		acpterm.CreateTerminalRequest{SessionID: "s1", Command: executable(t), Args: []string{"greet"}},
		jsonrpc2.PickID(jsonrpc2.ID{Num: 77}))
	require.NoError(t, err)
	<-f.asked
	require.NoError(t, f.agent.Notify(t.Context(), acpterm.MethodCancelRequest, map[string]int{"requestId": 77}))
	<-f.withdrawn
	var answer *jsonrpc2.Error
	require.ErrorAs(t, waiting.Wait(t.Context(), nil), &answer)
	require.EqualValues(t, -32800, answer.Code)
}

func TestASessionStaysInItsProject(t *testing.T) {
	f := newFixture(t, allow(t))
	err := f.agent.Call(t.Context(), acpterm.MethodCreate, acpterm.CreateTerminalRequest{SessionID: "s1",
		Command: executable(t), Args: []string{"greet"}, Cwd: filepath.Dir(f.project)}, nil)
	require.ErrorContains(t, err, "outside of the directories")
}

// Commands also run in the additional directories and below, and nowhere if one of the directories does not exist.
func TestAdditionalDirectories(t *testing.T) {
	for name, test := range map[string]struct {
		agent, missing bool // whether the agent offers additional directories, and whether one does not exist
		fails          string
	}{
		"offered":     {agent: true},
		"not offered": {fails: "does not support additional directories"},
		"missing":     {agent: true, missing: true, fails: "Roots[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			u := &user{}
			e, err := New(u, allow(t))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, e.Quit(t.Context())) })
			capabilities := map[string]any{}
			if test.agent {
				capabilities["sessionCapabilities"] = map[string]any{"additionalDirectories": map[string]any{}}
			}
			var asked []string
			ours, theirs := pipes(t)
			agent := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(theirs), jsonrpc2.HandlerWithError(
				func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
					if req.Method == "session/new" {
						var session newSession
						require.NoError(t, json.Unmarshal(*req.Params, &session))
						asked = session.AdditionalDirectories
					}
					return map[string]any{"sessionId": "s1", "protocolVersion": 1, "agentCapabilities": capabilities}, nil
				}))
			t.Cleanup(func() { agent.Close() })

			real, project := t.TempDir(), t.TempDir()
			below := filepath.Join(real, "below")
			require.NoError(t, os.Mkdir(below, 0o700))
			additional := real
			if test.missing {
				additional = filepath.Join(real, "missing")
			}
			err = e.Connect(ours).Open(t.Context(), project, additional)
			var dirs []string
			if test.fails == "" {
				require.NoError(t, err)
				require.Equal(t, []string{additional}, asked)
				dirs = []string{project, real, below}
			} else {
				require.ErrorContains(t, err, test.fails)
			}
			for _, dir := range []string{project, real, below, filepath.Dir(real)} {
				err := agent.Call(t.Context(), acpterm.MethodCreate, acpterm.CreateTerminalRequest{SessionID: "s1",
					Command: executable(t), Args: []string{"greet"}, Cwd: dir}, nil)
				require.Equal(t, slices.Contains(dirs, dir), err == nil, "%s: %v", dir, err)
			}
		})
	}
}

// Quit has no patience here: what ignores every request to end is gone all the same, though its grace is five seconds.
func TestQuitWithoutPatience(t *testing.T) {
	f := newFixture(t, allow(t))
	id, err := f.run("stay")
	require.NoError(t, err)
	p := f.editor.Pane("s1", id)
	f.awaitDrawn(p, func(text, _ string) bool { return text == "ready\n" })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, f.editor.Quit(ctx))
	require.Equal(t, acpterm.EndedByClose, p.terminal.EndedBy())
	require.Equal(t, "SIGKILL", *p.terminal.Output().ExitStatus.Signal)
}

// The agent asks for permission, and then creates the terminal: the user is asked once, with the agent's words.
func TestTheUserIsAskedOnceForWhatTheAgentAnnounces(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	ask := func(session string) (answer map[string]map[string]string, err error) {
		err = f.agent.Call(t.Context(), "session/request_permission", map[string]any{
			"sessionId": session,
			"toolCall": map[string]any{"toolCallId": "c1", "title": "\x1b[8mGreet", "kind": "execute",
				"rawInput": map[string]any{"command": []string{executable(t), "greet"}}},
			"options": []map[string]string{{"optionId": "y", "name": "No", "kind": "allow_once"},
				{"optionId": "n", "name": "Yes", "kind": "reject_once"}},
		}, &answer)
		return answer, err
	}
	f.answers <- runOnce
	answer, err := ask("s1")
	require.NoError(t, err)
	require.Equal(t, "y", answer["outcome"]["optionId"])
	d := <-f.asked
	require.Contains(t, d.Text, `"\x1b[8mGreet"`)
	require.Equal(t, []Choice{{`allow once: "No"`, true}, {`reject once: "Yes"`, false}}, d.Choices)
	require.Equal(t, "\x1b[8mGreet", (<-f.calls).Title)
	_, err = f.run("greet")
	require.NoError(t, err)
	require.Empty(t, f.asked)

	f.answers <- refuse
	_, err = f.run("greet") // once more is another question
	require.ErrorContains(t, err, "it was not approved")
	require.Contains(t, (<-f.asked).Title, "run a command")

	_, err = ask("another")
	require.ErrorContains(t, err, "-32002")
}

func TestUpdatesAreShownInOrder(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	update := f.update
	say := func(text string) map[string]any {
		content := map[string]string{"type": "text", "text": text}
		return map[string]any{"sessionUpdate": "agent_message_chunk", "content": content}
	}
	update("another", say("not for this session"))
	update("s1", say("one"))
	update("s1", map[string]any{"sessionUpdate": "plan"})
	update("s1", map[string]any{"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Test", "status": "pending"})
	update("s1", map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress",
		"content": []map[string]string{{"type": "terminal", "terminalId": "t1"}}})
	update("s1", say("two"))
	require.Equal(t, "one", <-f.said)
	require.Equal(t, "two", <-f.said)
	require.Equal(t, ToolCall{ID: "c1", Title: "Test", Status: "pending"}, <-f.calls)
	terminals := []acpterm.TerminalID{"t1"}
	require.Equal(t, ToolCall{ID: "c1", Title: "Test", Status: "in_progress", Terminals: terminals}, <-f.calls)
}

// Of tool calls, however many and long, the editor keeps what it may show of the newest.
func TestLargeToolCallsAreNotKept(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	var talk transcript
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	large := strings.Repeat("x", 128<<10)
	send := func(update map[string]any) {
		update["sessionUpdate"] = "tool_call"
		f.update("s1", update)
		call := <-f.calls
		talk.add(entry{call: &call})
	}
	sendLarge := func(i int) {
		terminal := map[string]any{"type": "terminal", "terminalId": fmt.Sprint(large, i)}
		send(map[string]any{
			"toolCallId": fmt.Sprint("title ", i), "title": fmt.Sprint(i, " ", large), "status": large, "kind": large,
			"content": []any{terminal, terminal}, "rawInput": map[string]string{"command": large},
		})
		send(map[string]any{"toolCallId": fmt.Sprint(i, large), "title": large})
	}
	sendLarge(0) // after it the buffers of both connections are as large as they get
	before := heap()
	for i := range 5 {
		sendLarge(i + 1)
	}
	for i := range 2 * maxToolCalls {
		send(map[string]any{"toolCallId": fmt.Sprint("short ", i), "title": "short", "status": "in_progress"})
	}
	large = ""
	// The pools of the encoders are emptied by several collections.
	require.Eventually(t, func() bool { return heap()-before < 2<<20 }, time.Minute, 10*time.Millisecond)
	require.LessOrEqual(t, len(f.talk.toolCalls), maxToolCalls)
	runtime.KeepAlive(talk)
}

// A tool call that goes on keeps its title while others end.
func TestEndedToolCallsAreForgottenFirst(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	f.talk.updateToolCall(ToolCall{ID: "long", Title: "Goes on", Status: "in_progress"})
	for i := range 2 * maxToolCalls {
		f.talk.updateToolCall(ToolCall{ID: fmt.Sprint(i), Title: "Short", Status: "completed"})
	}
	require.Equal(t, "Goes on", f.talk.updateToolCall(ToolCall{ID: "long", Status: "completed"}).Title)
}

// What the agent runs itself has a pane, and only the agent can stop it.
func TestCommandsThatTheAgentRunsHavePanes(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	update := func(kind, status string, meta map[string]any) {
		f.update("s1", map[string]any{"sessionUpdate": kind, "toolCallId": "c1", "title": "make all", "status": status,
			"content": []map[string]string{{"type": "terminal", "terminalId": "c1"}}, "_meta": meta})
		require.Equal(t, []acpterm.TerminalID{"c1"}, (<-f.calls).Terminals)
	}
	update("tool_call", "in_progress", map[string]any{"terminal_info": map[string]string{"terminal_id": "c1"}})
	p := f.editor.Pane("s1", "c1")
	require.True(t, p.OfAgent())
	require.Equal(t, "make all", p.Command(99))
	require.Nil(t, f.editor.Pane("another", "c1"))
	update("tool_call_update", "", map[string]any{
		"terminal_output": map[string]string{"terminal_id": "c1", "data": "one\n\x1b[1mtwo\n"}})
	f.awaitDrawn(p, func(text, state string) bool { return text == "one\ntwo\n" && state == "running" })
	p.Stop()
	f.awaitDrawn(p, func(_, state string) bool {
		return state == "running (the agent runs it and does not let it be stopped)"
	})
	update("tool_call_update", "failed", map[string]any{
		"terminal_exit": map[string]any{"terminal_id": "c1", "exit_code": nil, "signal": nil}})
	f.awaitDrawn(p, func(_, state string) bool { return strings.HasPrefix(state, "finished, not known") })
	require.True(t, p.EndUnknown())
	require.False(t, p.Succeeded())
}

func TestAPaneBeginsAnewWithReplacedOutput(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	output := func(base64 string) {
		f.update("s1", map[string]any{"sessionUpdate": "terminal_update", "terminalId": "t1",
			"output": map[string]string{"data": base64}})
	}
	output("b25lChtb") // a line, and an escape sequence that is not finished
	f.update("s1", map[string]any{"sessionUpdate": "tool_call", "toolCallId": "c1"})
	<-f.calls
	p := f.editor.Pane("s1", "t1")
	require.Equal(t, "not known yet", p.Command(99))
	f.awaitDrawn(p, func(text, _ string) bool { return text == "one\n" })
	output("MW0=")
	f.awaitDrawn(p, func(text, _ string) bool { return text == "1m" })
	require.NoError(t, f.talk.Close(t.Context()))
	require.Nil(t, f.editor.Pane("s1", "t1"))
}
