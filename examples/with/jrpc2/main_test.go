package main

// The client as it is, with an agent that is a process of its own.

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// listenerVariable is where an agent's command has to connect to.
const listenerVariable = "ACPTERM_WITH_TEST_LISTENER"

const manyMessages = 2000

var (
	longMessage = strings.Repeat("0123456789abcdef", 1<<16-1)
	rawIDs      = []string{`-1`, `1.5`, `0`, `99999999999999999999`, `"a b"`}
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agent":
			serveTestAgent()
			return
		case "raw agent":
			serveRawAgent()
			return
		case "command":
			runCommand(os.Args[2:])
			return
		}
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of the race detector's lives a second longer
	os.Exit(m.Run())
}

// dial connects a command to its test, which then sees it end.
func dial(address string) {
	if _, err := net.Dial("tcp", address); err != nil {
		panic(err)
	}
	fmt.Println("ready")
}

// play runs the client with an agent of the tests, and returns what it printed. Nothing may be left of the terminals
// before their manager is closed.
func play(t *testing.T, prompt string, agent *exec.Cmd) (printed string, err error) {
	t.Helper()
	m := must(acpterm.NewManager(nil))
	defer m.Close()
	var out bytes.Buffer
	agent.Stderr = os.Stderr
	err = run(t.Context(), m, &out, prompt, agent)
	require.Empty(t, m.Terminals())
	return out.String(), err
}

func testAgentProcess() *exec.Cmd { return exec.Command(os.Args[0], "agent") }

func TestTurns(t *testing.T) {
	var many strings.Builder
	for i := range manyMessages {
		fmt.Fprintln(&many, i)
	}
	for prompt, printed := range map[string]string{
		"kill while a wait is pending": "killed\nwaited: {\"endedBy\":\"killed\"}\n",
		"cancel waits":                 strings.Repeat("-32800 cancelled\n", 100) + "it runs on: true\n",
		"name a terminal that is not":  strings.Repeat("-32002 terminal_not_found term_x\n", 4),
		"send malformed params": "-32602 invalid_params command\n" +
			"-32602 invalid_params cwd\n" +
			"-32602 invalid_params terminalId\n" +
			"-32602 invalid_params params\n" +
			"-32602 invalid_params params\n" +
			"-32601 method_not_found fs/read_text_file\n",
		"say much":                 many.String() + longMessage + "\n",
		"print what is no message": strings.Repeat("-32002 terminal_not_found term_x\n", 4),
		"read much":                "true false\n",
	} {
		t.Run(prompt, func(t *testing.T) {
			got, err := play(t, prompt, testAgentProcess())
			require.NoError(t, err)
			require.Equal(t, printed+"end_turn\n", got)
		})
	}
}

// Answers have the id that the request came with.
func TestIDs(t *testing.T) {
	got, err := play(t, "", exec.Command(os.Args[0], "raw agent"))
	require.NoError(t, err)
	require.Equal(t, strings.Join(rawIDs, "\n")+"\nend_turn\n", got)
}

// When the agent ends in the middle of a turn, so does its command, and that before the client is done.
func TestAgentLeaves(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	agent := testAgentProcess()
	agent.Env = append(os.Environ(), listenerVariable+"="+listener.Addr().String())
	got, err := play(t, "leave while a command runs", agent)
	require.Error(t, err)
	require.Empty(t, got)
	command, err := listener.Accept()
	require.NoError(t, err)
	defer command.Close()
	io.Copy(io.Discard, command) // returns when the command no longer holds its end
}

// Those that are being created when the agent ends leave nothing either, which play looks at.
func TestAgentLeavesEarly(t *testing.T) {
	got, err := play(t, "leave while creates are served", testAgentProcess())
	require.Error(t, err)
	require.Empty(t, got)
}

// must is a value that is made without an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
