package acptermtest_test

// An example editor, with tests as its authors would write them. It has a pane with the agent's messages, a view of
// each terminal, a policy, a question to the user and a stop button.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/policy"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// editor is the program under test.
type editor struct {
	terminals *acpterm.Manager
	conn      *jsonrpc2.Conn
	session   acpterm.SessionID
	views     sync.WaitGroup

	mu   sync.Mutex
	said strings.Builder
	pane []*view
}

type view struct {
	terminal *acpterm.Terminal
	shown    strings.Builder
}

// open connects an editor to an agent and starts a session.
func open(ctx context.Context, terminals *acpterm.Manager, agentStdio io.ReadWriteCloser, dir string) (*editor, error) {
	e := &editor{terminals: terminals}
	h := acpterm.NewHandler(terminals, &acpterm.HandlerOptions{Next: jsonrpc2.HandlerWithError(e.handle), Created: e.show})
	e.conn = jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, agentStdio)), h)
	initialize := map[string]any{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}
	var session struct{ SessionID acpterm.SessionID }
	err := errors.Join(
		e.conn.Call(ctx, "initialize", initialize, nil),
		e.conn.Call(ctx, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}, &session))
	e.session = session.SessionID
	return e, err
}

// prompt plays a turn and returns its stop reason.
func (e *editor) prompt(ctx context.Context, text string) (string, error) {
	var turn struct{ StopReason string }
	err := e.conn.Call(ctx, "session/prompt", map[string]any{
		"sessionId": e.session, "prompt": []any{map[string]string{"type": "text", "text": text}},
	}, &turn)
	return turn.StopReason, err
}

func (e *editor) handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var n struct {
		Update struct{ Content struct{ Text string } }
	}
	if err := json.Unmarshal(*req.Params, &n); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said.WriteString(n.Update.Content.Text)
	return nil, nil
}

// show opens a view of the terminal.
func (e *editor) show(t *acpterm.Terminal) {
	v := &view{terminal: t}
	e.mu.Lock()
	e.pane = append(e.pane, v)
	e.mu.Unlock()
	e.views.Go(func() {
		for chunk := range t.Follow(context.Background(), 0) {
			e.mu.Lock()
			v.shown.WriteString(chunk.Text)
			e.mu.Unlock()
		}
	})
}

// text returns the contents of the views, each with the state of its command.
func (e *editor) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, v := range e.pane {
		fmt.Fprintf(&b, "$ %s\n%s[%s]\n", v.terminal.Command(), &v.shown, cmp.Or(v.terminal.EndedBy(), "running"))
	}
	return b.String()
}

// stop is the stop button. The first click asks the commands to end, the second kills them.
func (e *editor) stop(ctx context.Context) {
	for _, t := range e.terminals.SessionTerminals(e.session) {
		t.Kill(ctx)
	}
}

// close closes the connection.
func (e *editor) close() error {
	err := e.conn.Close()
	<-e.conn.DisconnectNotify()
	e.views.Wait()
	return err
}

// with runs a test with an editor and an agent that plays turn.
func with(t *testing.T, o acpterm.Options, turn func(*acptermtest.Turn) error, test func(*testing.T, *editor)) {
	synctest.Test(t, func(t *testing.T) {
		m := acptermtest.NewManager(t, &o)
		e, err := open(t.Context(), m, acptermtest.NewAgent(t, turn), "/project")
		require.NoError(t, err)
		test(t, e)
		m.ReleaseSession(t.Context(), e.session)
		require.NoError(t, e.close())
		require.Empty(t, m.Terminals())
	})
}

// run returns a turn that runs a command with a timeout.
func run(timeout time.Duration, program string, args ...string) func(*acptermtest.Turn) error {
	return func(turn *acptermtest.Turn) error {
		result, err := turn.Terminals.Run(turn.Context(), turn.Command(program, args...), agent.RunOptions{Timeout: timeout})
		if err == nil {
			turn.Say(fmt.Sprintf("%s: %s", result.Outcome, result.ExitStatus))
		}
		return err
	}
}

// build prints a line per minute for two hours.
func build(p *acptermtest.Process) int {
	for i := range 120 {
		fmt.Fprintf(p, "step %d\n", i)
		p.Sleep(time.Minute)
	}
	return 0
}

func TestOutputStaysAfterTheRelease(t *testing.T) {
	commands := acptermtest.Commands{"go test ./...": acptermtest.Print("FAIL x\n", 1)}
	with(t, acpterm.Options{Runner: commands}, run(0, "go", "test", "./..."), func(t *testing.T, e *editor) {
		reason, err := e.prompt(t.Context(), "test it")
		require.NoError(t, err)
		require.Equal(t, "end_turn", reason)
		require.Empty(t, e.terminals.Terminals())
		e.views.Wait()
		require.Equal(t, "$ go test ./...\nFAIL x\n[finished]\n", e.text())
		require.Equal(t, "completed: exit code 1", e.said.String())
	})
}

func TestOutputIsShownLive(t *testing.T) {
	with(t, acpterm.Options{
		Runner: acptermtest.Commands{"make": build},
	}, run(0, "make"), func(t *testing.T, e *editor) {
		begin := time.Now()
		go e.prompt(t.Context(), "build it")
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.Equal(t, "$ make\nstep 0\nstep 1\n[running]\n", e.text())
		time.Sleep(2 * time.Hour)
		require.Contains(t, e.text(), "step 119\n[finished]\n")
		require.Less(t, time.Since(begin), 3*time.Hour) // in the bubble's time
	})
}

func TestTimeouts(t *testing.T) {
	for _, c := range []struct {
		ofAgent, ofEditor time.Duration
		said, state       string
	}{
		{3 * time.Minute, 0, "timed out: signal SIGTERM", "[killed]"},
		{0, 3 * time.Minute, "completed: signal SIGTERM", "[timed_out]"},
	} {
		o := acpterm.Options{
			Runner:   acptermtest.Commands{"make": build},
			Commands: acpterm.CommandOptions{Timeout: c.ofEditor},
		}
		with(t, o, run(c.ofAgent, "make"), func(t *testing.T, e *editor) {
			_, err := e.prompt(t.Context(), "build it")
			require.NoError(t, err)
			require.Equal(t, c.said, e.said.String())
			require.Contains(t, e.text(), c.state)
		})
	}
}

func TestStopButton(t *testing.T) {
	ignores := func(p *acptermtest.Process) int {
		p.Ignore(syscall.SIGTERM)
		p.Spawn(func(p *acptermtest.Process) int {
			p.Catch(syscall.SIGTERM)
			p.Await()
			fmt.Fprintln(p, "child: stopped")
			return 0
		})
		p.Sleep(24 * time.Hour)
		return 0
	}
	with(t, acpterm.Options{
		Runner: acptermtest.Commands{"npm start": ignores},
	}, run(0, "npm start"), func(t *testing.T, e *editor) {
		go e.prompt(t.Context(), "start it")
		synctest.Wait()
		begin := time.Now()
		e.stop(t.Context())
		require.Equal(t, 5*time.Second, time.Since(begin)) // exactly the grace period
		synctest.Wait()
		require.Equal(t, "$ npm start\nchild: stopped\n[killed]\n", e.text())
		require.Equal(t, "completed: signal SIGKILL", e.said.String())
	})
}

func TestUserIsAsked(t *testing.T) {
	rules := policy.Rules{Rules: []policy.Rule{
		{Name: "reading", Verdict: acpterm.VerdictAllow, Program: "git", Args: []string{"status"}},
		{Name: "writing", Verdict: acpterm.VerdictAsk, Program: "git", Args: []string{"push", "..."}},
	}}
	compiled, err := rules.Compile(nil)
	require.NoError(t, err)
	var asked []string
	var approvals policy.Approvals
	o := acpterm.Options{
		Runner: acptermtest.Commands{"git": acptermtest.Print("done\n", 0), "/tmp/git": acptermtest.Print("evil\n", 0)},
		Policy: approvals.Policy(compiled),
		Approve: approvals.Approve(func(_ context.Context, q acpterm.Question) acpterm.Answer {
			asked = append(asked, q.Command.String())
			time.Sleep(time.Minute) // the user's time to answer
			return acpterm.Answer{Approval: acpterm.ApprovalSession}
		}),
	}
	turn := func(turn *acptermtest.Turn) error {
		words := strings.Fields(turn.Prompt)
		return run(0, words[0], words[1:]...)(turn)
	}
	with(t, o, turn, func(t *testing.T, e *editor) {
		for _, c := range []struct {
			command string
			asks    []string
			fails   bool
		}{
			{command: "git status"},
			{command: "git push", asks: []string{"git push"}},
			{command: "git push"}, // the answer is remembered
			{command: "git reset", fails: true},
			{command: "/tmp/git status", fails: true},
		} {
			asked = nil
			_, err := e.prompt(t.Context(), c.command)
			require.Equal(t, c.fails, err != nil, c.command)
			require.Equal(t, c.asks, asked, c.command)
		}
	})
}

func TestCancelledTurn(t *testing.T) {
	with(t, acpterm.Options{
		Runner: acptermtest.Commands{"sleep": acptermtest.Block},
	}, run(0, "sleep", "9"), func(t *testing.T, e *editor) {
		reasons := make(chan string)
		go func() {
			reason, _ := e.prompt(t.Context(), "wait")
			reasons <- reason
		}()
		synctest.Wait()
		require.NoError(t, e.conn.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": e.session}))
		require.Equal(t, "cancelled", <-reasons)
		require.Empty(t, e.terminals.Terminals())
	})
}

func TestTranscriptOfATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := acptermtest.NewManager(t, &acpterm.Options{
			Runner: acptermtest.Commands{"make": acptermtest.Print("done\n", 2)},
		})
		transcript := acptermtest.Record(acptermtest.NewAgent(t, run(0, "make")))
		dir := t.TempDir()
		quoted, err := json.Marshal(dir)
		require.NoError(t, err)
		transcript.Replace(string(quoted), `"/project"`)
		e, err := open(t.Context(), m, transcript, dir)
		require.NoError(t, err)
		_, err = e.prompt(t.Context(), "build it")
		require.NoError(t, err)
		require.NoError(t, e.close())
		transcript.Golden(t, "testdata/turn.txt")
	})
}

// A transcript is the same in each run, even if the order of the answers changes.
func TestTranscriptsAreTheSameInEachRun(t *testing.T) {
	runMake := func(o agent.RunOptions) func(*acptermtest.Turn) error {
		return func(turn *acptermtest.Turn) error {
			_, err := turn.Terminals.Run(turn.Context(), turn.Command("make"), o)
			return err
		}
	}
	for _, c := range []struct {
		name   string
		turn   func(*acptermtest.Turn) error
		cancel bool
		bubble bool
	}{
		{name: "timeout", turn: runMake(agent.RunOptions{Timeout: time.Minute}), bubble: true},
		{name: "timeout in real time", turn: runMake(agent.RunOptions{Timeout: time.Millisecond})},
		{name: "output from the start", turn: runMake(agent.RunOptions{
			Timeout: time.Minute,
			Created: func(terminal *agent.Terminal) { terminal.Output(context.Background()) },
		}), bubble: true},
		{name: "cancelled", turn: runMake(agent.RunOptions{}), cancel: true, bubble: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			golden := filepath.Join(t.TempDir(), "golden.txt")
			var first string
			play := func(t *testing.T) {
				m := acptermtest.NewManager(t, &acpterm.Options{
					Runner: acptermtest.Commands{"make": acptermtest.Block},
				})
				transcript := acptermtest.Record(acptermtest.NewAgent(t, c.turn))
				e, err := open(t.Context(), m, transcript, "/project")
				require.NoError(t, err)
				if c.cancel {
					time.AfterFunc(time.Second, func() {
						e.conn.Notify(context.Background(), "session/cancel", map[string]any{"sessionId": e.session})
					})
				}
				_, err = e.prompt(t.Context(), "build it")
				require.NoError(t, err)
				if c.bubble {
					synctest.Wait() // a cancelled request may be answered last
				}
				require.NoError(t, e.close())
				if first == "" {
					first = transcript.String()
					require.NoError(t, os.WriteFile(golden, []byte(first), 0o666))
				}
				transcript.Golden(t, golden)
				if !c.cancel {
					require.Equal(t, first, transcript.String())
				}
			}
			for range longtest.Times(20, 200) {
				if c.bubble {
					synctest.Test(t, play)
				} else {
					t.Run("", play)
				}
			}
		})
	}
}

// A test without processes is fast enough to run often and to find rare races.
func TestStopButtonOften(t *testing.T) {
	for range longtest.Times(100, 1000) {
		TestStopButton(t)
	}
}
