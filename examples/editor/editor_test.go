package editor

// The editor with a real connection and real commands, which are the test binary itself. The test is the agent and the user.

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/policy"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if command, ok := commands[os.Args[1]]; ok {
			command()
			return
		}
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of the race detector's lives a second longer
	os.Exit(m.Run())
}

// commands are what the agent runs.
var commands = map[string]func(){
	"greet": func() { fmt.Println("hello") },
	"flood": func() { fmt.Print(strings.Repeat("0123456789abcde\n", 1<<17), "end") },
	"stay": func() { // whatever asks it to end
		signal.Ignore(syscall.SIGTERM)
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	},
}

// user is the UI. Questions get the next of the answers; without one they wait until they are withdrawn.
type user struct {
	answers   chan string
	asked     chan string
	withdrawn chan struct{}
	drawn     chan *Pane
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

func (u *user) Ask(ctx context.Context, question string, _ []string) string {
	u.asked <- question
	select {
	case answer := <-u.answers:
		return answer
	case <-ctx.Done():
		close(u.withdrawn)
		return allowOnce // too late
	}
}

// fixture is an editor with one agent, in one conversation.
type fixture struct {
	*testing.T
	*user
	editor  *Editor
	project string
	agent   *jsonrpc2.Conn
	run     func(command string) (acpterm.TerminalID, error)
}

func newFixture(t *testing.T, rules policy.Rules) *fixture {
	u := &user{answers: make(chan string, 9), asked: make(chan string, 9), withdrawn: make(chan struct{}), drawn: make(chan *Pane, 1)}
	e, err := New(u, rules)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Quit(t.Context())) })
	project, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)

	ours, theirs := net.Pipe()
	agent := jsonrpc2.NewConn(t.Context(), acpterm.NewStream(theirs, nil), jsonrpc2.HandlerWithError(
		func(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
			return map[string]string{"sessionId": "s1"}, nil
		}))
	conn, err := e.Connect(context.Background(), ours, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		agent.Close()
	})
	require.NoError(t, conn.Call(t.Context(), "session/new", newSession{Cwd: project}, nil))
	return &fixture{T: t, user: u, editor: e, project: project, agent: agent, run: func(command string) (acpterm.TerminalID, error) {
		var created acpterm.CreateTerminalResponse
		err := agent.Call(t.Context(), acpterm.MethodCreate,
			acpterm.CreateTerminalRequest{SessionID: "s1", Command: executable(t), Args: []string{command}}, &created)
		return created.TerminalID, err
	}}
}

func executable(t *testing.T) string {
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// allow are rules under which this needs no question.
func allow(t *testing.T) policy.Rules {
	return policy.Rules{Rules: []policy.Rule{{Name: "tests", Verdict: acpterm.VerdictAllow, Program: executable(t)}}}
}

// awaitDrawn returns when the pane has been drawn and is as it should be.
func (f *fixture) awaitDrawn(p *Pane, is func(text, title string) bool) {
	f.Helper()
	for {
		text, _ := p.Text()
		if is(text, p.Title()) {
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
	p := f.editor.Pane(id)
	f.awaitDrawn(p, func(text, title string) bool {
		return text == "hello\n" && strings.Contains(title, "(finished, exit code 0)")
	})

	require.NoError(t, f.agent.Call(t.Context(), acpterm.MethodRelease, acpterm.TerminalRequest{SessionID: "s1", TerminalID: id}, nil))
	text, missed := f.editor.Pane(id).Text()
	require.Equal(t, "hello\n", text)
	require.Zero(t, missed)
	require.NoError(t, f.editor.CloseConversation(t.Context(), "s1"))
	require.Nil(t, f.editor.Pane(id))
}

// The first Draw takes until the command has ended: it must end all the same, and nothing be drawn that is not accounted for.
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
	p := f.editor.Pane(id)
	<-p.terminal.Done()
	require.EqualValues(t, 2<<20+3, p.terminal.OutputTotal())
	f.awaitDrawn(p, func(text, _ string) bool { return strings.HasSuffix(text, "abcde\nend") })
	text, missed := p.Text()
	require.Len(t, text, paneBytes)
	require.Greater(t, missed, int64(900<<10)) // the terminal keeps 1 MiB of the 2, and the view had 64 KiB before it slept
}

func TestTheStopButtonPressedTwice(t *testing.T) {
	f := newFixture(t, allow(t))
	id, err := f.run("stay")
	require.NoError(t, err)
	p := f.editor.Pane(id)
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
	require.Contains(t, <-f.asked, fmt.Sprintf("\ndirectory  %q\n", f.project))

	f.answers <- allowSession
	for range 2 { // the second time nobody is there to answer
		_, err = f.run("greet")
		require.NoError(t, err)
	}
	require.Len(t, f.asked, 1)
}

func TestACancelledRequestTakesItsDialogAway(t *testing.T) {
	f := newFixture(t, policy.Rules{})
	waiting, err := f.agent.DispatchCall(t.Context(), acpterm.MethodCreate,
		acpterm.CreateTerminalRequest{SessionID: "s1", Command: executable(t), Args: []string{"greet"}}, jsonrpc2.PickID(jsonrpc2.ID{Num: 77}))
	require.NoError(t, err)
	<-f.asked
	require.NoError(t, f.agent.Notify(t.Context(), acpterm.MethodCancelRequest, map[string]int{"requestId": 77}))
	<-f.withdrawn
	var answer *jsonrpc2.Error
	require.ErrorAs(t, waiting.Wait(t.Context(), nil), &answer)
	require.EqualValues(t, acpterm.CodeRequestCancelled, answer.Code)
}

func TestASessionStaysInItsProject(t *testing.T) {
	f := newFixture(t, allow(t))
	err := f.agent.Call(t.Context(), acpterm.MethodCreate, acpterm.CreateTerminalRequest{SessionID: "s1", Command: executable(t),
		Args: []string{"greet"}, Cwd: filepath.Dir(f.project)}, nil)
	require.ErrorContains(t, err, "outside of the directories")
}

// Quit has no patience here: what ignores every request to end is gone all the same, though its grace is five seconds.
func TestQuitWithoutPatience(t *testing.T) {
	f := newFixture(t, allow(t))
	id, err := f.run("stay")
	require.NoError(t, err)
	p := f.editor.Pane(id)
	f.awaitDrawn(p, func(text, _ string) bool { return text == "ready\n" })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, f.editor.Quit(ctx))
	require.Equal(t, acpterm.EndedByClose, p.terminal.EndedBy())
	require.Equal(t, "SIGKILL", *p.terminal.Output().ExitStatus.Signal)
}
