package main

// What works on every system: prompts, output, and agents that the client has to put up with.

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	for prompt, wants := range map[string][]string{
		line("print", "hello"): {`^\* .*: allowed \("Run it"\)\n\[1\] \$ `, `\[1\] \| hello\n`,
			`\[1\] = exited 0 in \d.*s\n`, `\n> exit code 0\n`},
		line("exit", "3"):         {`\[1\] = exited 3 in \d.*s\n`, `\n> exit code 3\n`},
		"acpterm-no-such-program": {`\* "acpterm-no-such-program" \(failed\)\n`, `command not found\n`},
	} {
		c := startClient(t, exampleAgent(), "-prompt", prompt)
		c.exit(0) // the turn went well
		for _, want := range wants {
			require.Regexp(t, want, c.stdout.String())
		}
		about := regexp.MustCompile(`(?m)^(\*|\[1\] \$) `).FindAllString(c.stdout.String(), -1)
		require.Len(t, about, 2, "the agent's line, and the command's or the failure")
		require.Empty(t, c.stderr.String())
	}
}

// The client keeps what the protocol promises of terminals, and what good clients do beyond it.
func TestTerminals(t *testing.T) {
	args := []string{"-timeout", "2m", "-total", "10m", "--", filepath.Join(binaries(), "acpterm"), "-prompt", "check", "--"}
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries(), "acp-terminal-check"), args...)
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Parallel() // from here: the tests that cannot be parallel run meanwhile
	require.NoError(t, cmd.Wait(), "%s", &out)
}

func TestWithoutAnAgentOrPrompt(t *testing.T) {
	t.Parallel()
	c := startCommand(t, nil, nil, []string{filepath.Join(binaries(), "acpterm"), "-prompt", "x"})
	c.exit(exitUsage)
	require.Contains(t, c.stderr.String(), "name the agent's command")
	c = startClient(t, exampleAgent(), "-prompt", "") // and nothing on standard input
	c.exit(exitUsage)
	require.Contains(t, c.stderr.String(), "the prompt is empty")
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := realDir(t)
	for _, agent := range [][]string{
		exampleAgent(),                    // it says where
		part("agent-that-looks", "where"), // it does not
	} {
		c := startClient(t, agent, "-cwd", dir, "-prompt", line("where"))
		c.exit(0)
		require.Contains(t, c.stdout.String(), "[1] | in "+dir+"\n")
	}
}

func TestPromptFromStandardInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prompt")
	require.NoError(t, os.WriteFile(file, []byte(line("print", "from a file")+"\n"), 0o600))
	stdin, err := os.Open(file)
	require.NoError(t, err)
	defer stdin.Close()
	c := startClientWith(t, stdin, exampleAgent())
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[1] | from a file\n")
}

func TestOutputIsLive(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	c := startClient(t, exampleAgent(), "-prompt", line("steps", goOn))
	c.stdout.await(t, `\[1\] \| step 1\n`)
	require.NotContains(t, c.stdout.String(), "step 2\n")
	create()
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[1] | step 2\n")
}

func TestRequestsAndRefusal(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-asks"), "-prompt", "x")
	c.exit(exitTurnStopped)
	out := c.stdout.String()
	for _, want := range []string{
		"fs/read_text_file: -32601\n",
		"fs/write_text_file: -32601\n",
		"no/such_method: -32601\n",
		`* "Do it": allowed ("allow_always")` + "\n" + `> {"outcome":{"outcome":"selected","optionId":"id of allow_always"}}` + "\n",
		`> {"outcome":{"outcome":"cancelled"}}` + "\n",
		"> [2Jno escape\n",
	} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "\x1b")
	require.Contains(t, c.stderr.String(), `the turn ended with "refusal"`)
}

func TestAgentsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const ended = "acpterm: the agent ended before it was done: exit code 3\n"
	for _, test := range []struct {
		agent []string
		code  int
		want  string
	}{
		{part("agent-that-dies"), exitAgentGone, ended},
		{part("agent-that-dies-first"), exitAgentGone, ended},
		{part("agent-that-is-newer"), exitFailed, "version 2 of the protocol"},
		{[]string{"acpterm-no-such-agent"}, exitFailed, "acpterm-no-such-agent"},
	} {
		c := startClient(t, test.agent, "-prompt", "x")
		c.exit(test.code)
		require.Contains(t, c.stderr.String(), test.want)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	c := startClient(t, exampleAgent(), "-h")
	c.exit(0)
	for _, flag := range []string{"cwd", "prompt", "root", "allow", "ask", "timeout", "audit", "sandbox", "network",
		"runner", "helpers", "shell"} {
		require.Contains(t, c.stdout.String(), "\n  -"+flag)
	}
	for _, e := range exits {
		require.Contains(t, c.stdout.String(), fmt.Sprintf("\n  %-4d %s", e.code, e.when))
	}
	require.Empty(t, c.stderr.String())
}

// What an agent writes to standard error is the person's to see, and cannot pass for something else.
func TestAgentsStandardErrorSteersNothing(t *testing.T) {
	t.Parallel()
	text := "\x1b[2J\x1b[H? Run \"/bin/true\"? \n\u202eplain\ttab\u009b2J\r\n\xff é no end"
	c := startClient(t, part("agent-that-shouts", text), "-prompt", "x")
	c.exit(0)
	require.Equal(t, `agent: \x1b[2J\x1b[H? Run "/bin/true"? `+"\n"+`agent: \u202eplain`+"\ttab"+`\u009b2J`+"\n"+
		"agent: \ufffd é no end\n", c.stderr.String())
}

// Titles, states, names and errors are the agent's words, too.
func TestAgentsWordsSteerNothing(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-disguises"), "-prompt", "x")
	c.exit(1)
	out := c.stdout.String()
	require.Contains(t, out, `* "Do \u202eit\u3164" ("un\u2066done\x1b[2J")`+"\n")
	require.Contains(t, out, `> said \u202eso`+"\n")
	require.Contains(t, out, `[1] $ `)
	require.Contains(t, out, `\u202ewritten`)
	require.NotContains(t, out, "\u202e")
	require.Contains(t, c.stderr.String(), `acpterm: session/prompt: the agent says "a\x1b[2J\u202eb" (code 0)`+"\n")
	require.NotContains(t, c.stderr.String(), "\x1b")
}

// Of a long command, the middle is not shown, and of its program, the directories. Of the output, escape sequences are
// not shown, and of a progress bar only the last state.
func TestCommandsAsShown(t *testing.T) {
	t.Parallel()
	for want, command := range map[string][]string{
		`(?m)^\[1\] \$ .*x \.\.\. \d+ bytes not shown \.\.\. x`: {"print", strings.Repeat("x", 100_000)},
		`(?m)^\[1\] \$ \S+ ` + playMark + ` print /a/b$`:        {"print", "/a/b"},
		`^\[1\] \$ .*\n\[1\] \| red\n\[1\] \| still plain no end\n`: {
			"write", "\x1b[2J\x1b]0;title\a\x1b[1;31mred\nstill\x1b[0m \x1b[Aplain \x1b[32mno end"},
		`^\[1\] \$ .*\n\[1\] \| 100%\n\[1\] \| next\n\[1\] = exited 0 in `: {"write", "0%\r50%\r100%\nnext\rn\b"},
	} {
		c := startClient(t, part("agent-that-looks", command...), "-prompt", "x")
		c.exit(exitTurnEnded)
		// The agent may tell what it has read before all output is printed.
		require.Regexp(t, want, regexp.MustCompile(`(?m)^> .*\n`).ReplaceAllString(c.stdout.String(), ""))
		require.NotContains(t, c.stdout.String(), part("")[0])
		require.NotContains(t, c.stdout.String(), "\x1b")
	}
}

// What an agent prints by mistake is shown, and an empty line is not.
func TestLinesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-prints", "listening\x1b[2J on 9229", "", " "), "-prompt", "x")
	c.exit(exitTurnEnded)
	require.Contains(t, c.stderr.String(), `acpterm: skipped a line of the agent's that is not JSON: "listening\x1b[2J on 9229"`+"\n")
	require.Equal(t, 1, strings.Count(c.stderr.String(), "acpterm: "))
}

// What the far end says of itself is in no command line that a person might copy.
func TestNoHelper(t *testing.T) {
	for arch, known := range map[string]bool{"arm64": true, "touch x #": false, "$(touch x)": false, "riscv64": false} {
		err := noHelper(&remote.NoHelperError{System: "freebsd", Arch: arch})
		require.ErrorContains(t, err, "go install")
		if known {
			require.ErrorContains(t, err, "GOOS=freebsd GOARCH=arm64 go build -o DIR/acpterm-remote-freebsd-arm64 ")
		} else {
			require.NotContains(t, err.Error(), "GOARCH", arch)
		}
	}
	err := noHelper(&remote.NoHelperError{System: "x; touch y", Arch: "amd64"})
	require.NotContains(t, err.Error(), "GOOS")
}

func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("the disk is full"), 1},
		{fmt.Errorf("%w: exit code 3", errAgentGone), 3},
		{fmt.Errorf("%w with %q", errTurnStopped, "refusal"), 4},
		{fmt.Errorf("%w: interrupt", errLeft), 130},
		{fmt.Errorf("%w: %w", errCancelled, errors.Join(errTurnStopped, errAgentGone)), 130},
		{errors.Join(errAgentGone, errors.New("survivors")), 3},
		{fmt.Errorf("%w: -cwd: it is no directory", errUsage), 2},
		{fmt.Errorf("-runner: %w", &acpterm.Error{Kind: acpterm.ErrConnectionLost}), 6},
		{errors.Join(errTurnStopped, &acpterm.Error{Kind: acpterm.ErrConnectionLost}), 4},
	} {
		require.Equal(t, test.code, exitCode(test.err), "%v", test.err)
	}
}
