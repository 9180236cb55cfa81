package with

// Each program is built and run as it is, with agents that are processes of their own.

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
)

var programs = []string{"jsonrpc2", "acpsdk", "jrpc2", "versions"}

// agents are what the test binary is with an argument.
var agents = map[string]func(){"agent": serveTestAgent, "agent of v2": serveV2Agent, "agent of v3": serveV3Agent}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if serve := agents[os.Args[1]]; serve != nil {
			serve()
			return
		}
		if os.Args[1] == "command" {
			dial(os.Args[2])
			return
		}
	}
	racetest.Restart()
	// Most of the time the commands of TestTerminals wait until they are ended by force: the other tests run meanwhile.
	if err := flag.Set("test.parallel", strconv.Itoa(len(programs)+runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(built.dir)
	os.Exit(code)
}

// built has the programs, once a test has asked for them.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// build builds the programs, examples/agent and acp-terminal-check, once, and returns their directory.
func build(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "acpterm-with-test-"); built.err != nil {
			return
		}
		const module = "github.com/acpterm/acpterm/"
		out, err := exec.Command("go", "build", "-o", built.dir+string(filepath.Separator), "./...",
			module+"examples/agent", module+"cmd/acp-terminal-check").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	require.NoError(t, built.err)
	return built.dir + string(filepath.Separator)
}

// play runs a client with an agent, and returns what it printed.
func play(t *testing.T, client, prompt string, agent ...string) (printed string, err error) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), client, append([]string{prompt}, agent...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return string(out), err
}

// Each program keeps what the protocol promises of terminals, and what good clients do beyond it.
func TestTerminals(t *testing.T) {
	t.Parallel()
	dir := build(t)
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), dir+"acp-terminal-check", "-timeout", "30s", "-total", "10m",
				"--", dir+program, "check").CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// The first line of each program says how to call it from the repository's root.
func TestCalls(t *testing.T) {
	t.Parallel()
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(program, "main.go"))
			require.NoError(t, err)
			line, _, _ := strings.Cut(string(source), "\n")
			_, command, found := strings.Cut(line, ": ")
			require.True(t, found, line)
			var words []string
			for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(strings.TrimSpace(command), -1) {
				words = append(words, strings.Trim(word, `"`))
			}
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Dir = filepath.Join("..", "..")
			out, err := cmd.Output()
			require.NoError(t, err)
			require.Contains(t, string(out), "go version go1.")
			require.Contains(t, string(out), "exit code 0")
			require.True(t, strings.HasSuffix(string(out), "end_turn\n"), "%s", out)
		})
	}
}

// The agent asks for permission, runs the prompt in a terminal and says how that ended.
func TestExampleAgent(t *testing.T) {
	t.Parallel()
	dir := build(t)
	for _, program := range programs {
		out, err := play(t, dir+program, "go no-such-command", dir+"agent")
		require.NoError(t, err, program)
		require.Contains(t, out, "unknown command", program)
		require.Contains(t, out, "exit code 2", program)
		out, err = play(t, dir+program, "", dir+"agent")
		require.NoError(t, err, program)
		require.Equal(t, "There is no command in your prompt.refusal\n", out, program)
	}
}

// The reasons and errors of an agent are printed so that they cannot steer the user's terminal.
func TestTextsThatSteerTheTerminal(t *testing.T) {
	t.Parallel()
	dir := build(t)
	for _, program := range programs {
		out, err := play(t, dir+program, "stop with an escape sequence", os.Args[0], "agent")
		require.NoError(t, err, program)
		require.Equal(t, `X\x1b[2J\r`+"\n", out, program)
		_, err = play(t, dir+program, "fail with an escape sequence", os.Args[0], "agent")
		require.ErrorContains(t, err, `[2J\r`, program)
		require.NotContains(t, err.Error(), "\x1b", program)
	}
}

// When the agent ends in the middle of a turn, so does its command, and the client says how the agent ended.
func TestAgentLeaves(t *testing.T) {
	t.Parallel()
	dir := build(t)
	for _, program := range programs {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		_, err = play(t, dir+program, "leave while a command runs", os.Args[0], "agent", listener.Addr().String())
		require.ErrorContains(t, err, "the agent: exit code 3", program)
		command, err := listener.Accept()
		require.NoError(t, err)
		io.Copy(io.Discard, command) // returns when the command no longer holds its end
		command.Close()
		listener.Close()
	}
}

// An agent of v2 runs its commands itself, and has no terminal/*. Other versions are refused.
func TestVersions(t *testing.T) {
	t.Parallel()
	client := build(t) + "versions"
	out, err := play(t, client, "echo one; echo two", os.Args[0], "agent of v2")
	require.NoError(t, err)
	require.Contains(t, out, "one\ntwo\n")
	require.Contains(t, out, "exit code 0, terminal/create: -32601")
	require.True(t, strings.HasSuffix(out, "\nend_turn\n"), out)
	_, err = play(t, client, "leave", os.Args[0], "agent of v2")
	require.ErrorContains(t, err, "jsonrpc2: connection is closed; the agent: exit code 3")
	_, err = play(t, client, "x", os.Args[0], "agent of v3")
	require.ErrorContains(t, err, "the agent speaks version 3")
}

// dial connects a command to its test, which then sees it end, and stays.
func dial(address string) {
	if _, err := net.Dial("tcp", address); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

// The programs for one library stay short: lines of code, without the imports, blank lines and comments.
func TestShort(t *testing.T) {
	for _, program := range programs[:3] {
		source, err := os.ReadFile(filepath.Join(program, "main.go"))
		require.NoError(t, err)
		_, code, found := strings.Cut(string(source), "\n)\n")
		require.True(t, found)
		lines := regexp.MustCompile(`(?m)^\s*[^\s/].*$`).FindAllString(code, -1)
		require.LessOrEqual(t, len(lines), 50, program)
	}
}
