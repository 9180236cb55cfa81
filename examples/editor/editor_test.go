//go:build unix

package main

// The editor as a process in a terminal, with the example agent. acpterm runs both: Terminal.Output is what is on the
// screen.

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/racetest"
)

// patience is how long a test waits for the screen: far more than any test needs.
const patience = 5 * time.Minute

const (
	up    = "\x1b[A"
	enter = "\r"
	ctrlC = "\x03"
	ctrlX = "\x18"
)

// agent is the program of the example agent.
var agent string

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "stay" { // a command of the agent
		fmt.Println("here", os.Getpid())
		time.Sleep(time.Hour)
	}
	if len(os.Args) == 3 && os.Args[1] == "editor" {
		os.Args = os.Args[1:]
		main()
		return
	}
	racetest.MainWith(m, "../agent", &agent)
}

// screen is the editor's terminal.
type screen struct {
	*testing.T
	terminal *acpterm.Terminal
}

func startEditor(t *testing.T, columns int) *screen {
	m, err := acpterm.NewManager(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	request := acpterm.CreateTerminalRequest{SessionID: "s", Command: os.Args[0], Args: []string{"editor", agent}}
	options := &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: columns, Rows: 30, Attended: true}}
	terminal, err := m.Create(t.Context(), request, options)
	require.NoError(t, err)
	s := &screen{t, terminal}
	s.await("editor · ready")
	return s
}

func (s *screen) press(keys string) {
	_, err := fmt.Fprint(s.terminal, keys)
	require.NoError(s, err)
}

// await returns when the screen matches, with the last group of the match.
func (s *screen) await(pattern string) string {
	s.Helper()
	expr := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for range s.terminal.Follow(ctx, 0) {
		if match := expr.FindStringSubmatch(s.terminal.Output().Output); match != nil {
			return match[len(match)-1]
		}
	}
	require.Fail(s, "it never showed this", "%s, but:\n%s", pattern, s.terminal.Output().Output)
	return ""
}

// quit ends the editor.
func (s *screen) quit() {
	s.press(ctrlC)
	status, err := s.terminal.Wait(s.Context())
	require.NoError(s, err)
	require.True(s, status.Success(), status)
}

func TestACommandIsAllowedShownAndStopped(t *testing.T) {
	s := startEditor(t, 100)
	s.await(`^── editor · ready\n{28}>`) // the prompt is at the bottom
	s.press(os.Args[0] + " stay" + enter)
	s.await(`The agent asks for permission(.|\n)*▸ reject once`)
	s.press(up + enter)
	s.await(`stay · running\nhere `) // without a second question
	s.press(ctrlX)
	s.await(`editor · ready(.|\n)*stay · ended, signal SIGTERM`)
	s.quit()
}

func TestKeysForThePromptAllowNothing(t *testing.T) {
	s := startEditor(t, 100)
	s.press(os.Args[0] + " stay" + enter + "another prompt")
	s.await(`The agent asks for permission(.|\n)*▸ reject once`)
	s.press("y1 y" + enter)
	s.await(`I was not allowed to run it\.`)
	s.quit()
}

// y chooses to run the command once, and n to refuse it. In a window with few columns, the bar has the state of a long
// command and the number of lines above, and the help has the way out.
func TestAnswersAndBarsInANarrowWindow(t *testing.T) {
	s := startEditor(t, 60)
	s.await(`\^C quit  Enter send`)
	s.press("echo " + strings.Repeat("long ", 20) + "; seq 40" + enter)
	s.await(`(?s)▸ reject once.*\^C quit  Enter answer  y n`)
	s.press("y")
	s.await(`▸ allow once`)
	s.press("n")
	s.await(`▸ reject once`)
	s.press("y")
	s.await(`▸ allow once`)
	s.press(enter)
	s.await(`(?m)^── echo long .*… · ended, exit code 0 · \d\d lines above\n(.*\n)*40$`)
	s.quit()
}

func TestQuitLeavesNothing(t *testing.T) {
	s := startEditor(t, 100)
	s.press(os.Args[0] + " stay" + enter)
	s.await(`▸ reject once`)
	s.press(up + enter)
	pid, err := strconv.Atoi(s.await(`stay · running\nhere (\d+)\n`))
	require.NoError(t, err)
	s.quit()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}
