package main

// The whole program with a terminal that the test looks at and types into. The agents are processes.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
)

// Keys.
const (
	up    = "\x1b[A"
	enter = "\r"
	tab   = "\t"
	esc   = "\x1b"
	ctrlC = "\x03"
	ctrlX = "\x18"
)

// markVariable is in the environment of all that a test starts.
const markVariable = "ACPTERM_EDITOR_TEST"

// patience is how long a test waits for a state of the screen: far more than any test needs.
const patience = 5 * time.Minute

// terminal is the user's.
type terminal struct {
	testing.TB
	emulator *vt.Emulator
	program  *tea.Program
	ended    chan struct{} // closed when err is set
	err      error         // what run returned

	mu      sync.Mutex // over the emulator, but for what it is typed into and read from
	changed *sync.Cond
	over    bool
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed.Broadcast()
	t.emulator.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))) // as a terminal's driver does
	return len(p), nil
}

// runEditor runs the program with an agent, or the example agent, in 80 columns and 24 lines. A test quits it, or else
// it ends with the test.
func runEditor(t testing.TB, agent ...string) *terminal { return runEditorIn(t, 80, 24, nil, agent...) }

// runEditorIn calls prepare with the emulator, unless it is nil.
func runEditorIn(t testing.TB, width, height int, prepare func(*vt.Emulator), agent ...string) *terminal {
	t.Setenv(markVariable, fmt.Sprint(t.Name(), os.Getpid())) // other test binaries may be running
	term := &terminal{TB: t, emulator: vt.NewEmulator(width, height), ended: make(chan struct{})}
	term.changed = sync.NewCond(&term.mu)
	if prepare != nil {
		prepare(term.emulator)
	}
	if len(agent) > 0 {
		agent = append([]string{executable(t)}, agent...)
	}
	p := program{agent: agent, dir: t.TempDir(), tools: true, view: "127.0.0.1:0"}
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() { // of a test that failed before it quit
		end()
		<-term.ended
	})
	go func() {
		defer close(term.ended)
		term.err = p.run(ctx, tea.WithInput(struct{ io.Reader }{term.emulator}), tea.WithOutput(term),
			tea.WithWindowSize(width, height), tea.WithEnvironment([]string{"TERM=xterm-256color", "TTY_FORCE=1"}),
			func(p *tea.Program) { term.program = p })
		term.emulator.InputPipe().(io.Closer).Close()
		term.mu.Lock()
		defer term.mu.Unlock()
		term.over = true
		term.changed.Broadcast()
	}()
	term.await("ready")
	return term
}

func (t *terminal) press(keys string) {
	_, err := io.WriteString(t.emulator.InputPipe(), keys)
	require.NoError(t, err)
}

// await returns when the screen matches, and returns what it shows.
func (t *terminal) await(pattern string) string {
	t.Helper()
	return t.awaitThat(pattern, regexp.MustCompile(pattern).MatchString)
}

// awaitThat returns when is reports true about what the screen shows. is may use the emulator.
func (t *terminal) awaitThat(what string, is func(shown string) bool) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		t.mu.Lock() // or the wait below might begin after the broadcast
		defer t.mu.Unlock()
		t.changed.Broadcast()
	})()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if shown := t.emulator.String(); is(shown) {
			return shown
		}
		require.False(t, t.over || ctx.Err() != nil, "it never showed %s, but:\n%s", what, t.emulator)
		t.changed.Wait()
	}
}

// quit quits, and requires that nothing is left.
func (t *terminal) quit() {
	t.Helper()
	t.press(ctrlC)
	<-t.ended
	require.NoError(t, t.err)
	require.False(t, t.emulator.IsAltScreen())
	require.Empty(t, markedProcesses(markVariable+"="+os.Getenv(markVariable)))
	require.Empty(t, goroutines())
}

// markedProcesses are those with a variable in their environment, where there is /proc.
func markedProcesses(mark string) (found []string) {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		data, _ := os.ReadFile(path)
		if bytes.Contains(data, []byte(mark+"\x00")) {
			found = append(found, path)
		}
	}
	return found
}

// goroutines are the stacks of those of this program and the library. One that has said that it is done may take a
// moment to be gone, so it looks until there is none, for a bounded time.
func goroutines() (found []string) {
	ours := regexp.MustCompile(`(?m)^github\.com/acpterm/acpterm(/examples/editor|/mcpserver|/view|/internal/\w+)?\.`)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); runtime.Gosched() {
		buffer := make([]byte, 1<<20)
		found = nil
		for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			if ours.MatchString(stack) && !strings.Contains(stack, "testing.") { // tests themselves
				found = append(found, stack)
			}
		}
		if len(found) == 0 {
			return nil
		}
	}
	return found
}

func TestAPromptRunsACommandInAPane(t *testing.T) {
	term := runEditor(t)
	term.press(executable(t) + " greet" + enter)
	term.await(`The agent asks for permission(.|\n)*▸ reject once`)
	term.press(up + enter)
	shown := term.await(`✔ 1 .*finished, exit code 0 · (.|\n)*\nhello\n`) // without a second question
	require.Regexp(t, `\(completed\) \[1\](.|\n)*\nexit code 0\n`, term.await(`\nexit code 0\n`), shown)
	term.quit()
}

func TestACommandThatTheAgentRunsInAPane(t *testing.T) {
	term := runEditor(t)
	term.press("self: " + executable(t) + " stay" + enter)
	term.await(`asks for permission`)
	term.press(up + enter)
	term.await(`● 1 .*the agent's own · .*running · (.|\n)*\nready`)
	term.press(ctrlX)
	term.await(`● 1 .*running \(the agent runs it and does not let it be stopped\)`)
	term.quit()
}

func TestKeysForThePromptAllowNothing(t *testing.T) {
	term := runEditor(t)
	term.press(executable(t) + " greet" + enter + "another prompt")
	term.await(`asks for permission`)
	term.press("y1 " + enter)
	term.await(`I was not allowed to run it\.`)
	term.quit()
}

func TestStopPressedTwiceKills(t *testing.T) {
	term := runEditor(t)
	term.press(executable(t) + " stay" + enter)
	term.await(`asks for permission`)
	term.press(up + enter)
	term.await(`● 1 .*running · (.|\n)*\nready`)
	term.press(ctrlX)
	term.await(`● 1 .*running \(stopping; again ends it at once\)`)
	term.press(ctrlX)
	term.await(`✘ 1 .*killed, signal SIGKILL · `)
	term.quit()
}

func TestQuitLeavesNothing(t *testing.T) {
	term := runEditor(t)
	term.press(executable(t) + " stay" + enter)
	term.await(`asks for permission`)
	term.press(up + enter)
	term.await(`\nready`)
	term.quit()
}

func TestOutputDoesNotSteerTheTerminal(t *testing.T) {
	term := runEditor(t)
	term.press(executable(t) + " steer" + enter)
	term.await(`asks for permission`)
	term.press(up + enter)
	term.await(`✔ 1 .*finished(.|\n)*\nred\\a\\u202e\n 99%\n`)
	term.quit()
}

func TestDialogsAreQueuedAndWithdrawn(t *testing.T) {
	term := runEditor(t, "busy-agent")
	term.press("go" + enter)
	term.await(`run a command \(2 more after this\)`)
	term.press(up + up + enter)
	term.await(`run a command \(1 more after this\)`)
	term.await(`working, 1 running`) // behind the dialogs
	term.press(esc)
	term.await(`The turn has ended: cancelled`)
	require.NotContains(t, term.await(`● 1 .*running(.|\n)*\nready`), "wants to run")
	term.press(ctrlX)
	term.await(`● 1 .*running \(stopping; again ends it at once\)`)
	term.press(ctrlX) // else the end takes its time, as in TestQuitLeavesNothing
	term.await(`✘ 1 .*killed, signal SIGKILL · `)
	term.quit()
}

func TestAnAgentsDeathAndItsLastWords(t *testing.T) {
	term := runEditor(t, "dying-agent")
	term.press("go" + enter)
	term.await(`ended(.|\n)*The agent has ended: exit code 3\n(.|\n)*the agent's log.*\n\\x1b\[2Jgoing down`)
	term.quit()
}

func TestWithoutATerminalItSaysSo(t *testing.T) {
	output, err := exec.Command(executable(t), "main").CombinedOutput()
	require.Error(t, err)
	require.Equal(t, "editor: standard input and output must be a terminal; cmd/acpterm needs none\n", string(output))
}

func TestADialogWithManyChoicesFits(t *testing.T) {
	d := newDialog(Dialog{Text: "text\n", Choices: slices.Repeat([]Choice{{"Run", true}}, 100)})
	require.Equal(t, -1, d.selected, "nothing allows nothing")
	require.False(t, d.key("enter"))
	for range 100 {
		require.LessOrEqual(t, d.resize(40, 10), 10)
		require.Equal(t, d.resize(40, 10), 1+strings.Count(d.view(newStyles(true), 0), "\n"))
		d.key("down")
	}
	require.True(t, d.key("enter"))
	require.Equal(t, 99, <-d.answer)
}

func TestADialogIsReadBeforeItAllows(t *testing.T) {
	line := strings.Repeat("word ", 30) + "\n"
	d := newDialog(Dialog{Text: line, Full: line + "the rest\n", Choices: []Choice{{"Run", true}, {"Not", false}}})
	for range 2 {
		d.resize(40, 6)
		require.Equal(t, 1, d.selected, "it begins at what allows nothing")
	}
	d.key("up")
	presses := 0
	for ; !d.key("enter"); presses++ {
		d.resize(40, 6)
	}
	require.Equal(t, 0, <-d.answer)
	require.Greater(t, presses, 2)
	require.Contains(t, d.text.View(), "the rest")

	d = newDialog(Dialog{Text: line, Choices: []Choice{{"Run", true}, {"Not", false}}})
	d.resize(40, 6)
	require.True(t, d.key("enter"), "nothing has to be read to refuse")
	require.Equal(t, 1, <-d.answer)
}

// serveAgent is an agent on standard input and output whose turns are played by a function.
func serveAgent(play func(ctx context.Context, conn *jsonrpc2.Conn, cancelled <-chan struct{}) string) {
	cancelled := make(chan struct{})
	handler := func(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		switch req.Method {
		case "session/prompt":
			return map[string]string{"stopReason": play(ctx, conn, cancelled)}, nil
		case "session/cancel":
			close(cancelled)
		}
		return map[string]any{"protocolVersion": 1, "sessionId": "s1"}, nil
	}
	stdio := agentproc.JoinStdio(os.Stdin, os.Stdout)
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio),
		jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(handler)))
	<-conn.DisconnectNotify()
}

// dyingTurn ends the agent.
func dyingTurn(context.Context, *jsonrpc2.Conn, <-chan struct{}) string {
	fmt.Fprint(os.Stderr, "\x1b[2Jgoing down")
	os.Exit(3)
	return ""
}

// busyTurn asks for three terminals at once, and waits until it is cancelled and their creates are answered.
func busyTurn(ctx context.Context, conn *jsonrpc2.Conn, cancelled <-chan struct{}) string {
	self, _ := os.Executable()
	var creates sync.WaitGroup
	for range 3 {
		creates.Go(func() {
			request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: self, Args: []string{"stay"}}
			conn.Call(ctx, acpterm.MethodCreate, request, nil)
		})
	}
	<-cancelled
	creates.Wait()
	return "cancelled"
}
