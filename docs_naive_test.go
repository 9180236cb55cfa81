//go:build unix

package acpterm_test

// The wrong ways that docs/moving-from-a-hand-written-terminal.md describes. Each test demonstrates the bug of a naive
// function, and the library's behaviour with the same command.

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// naiveTruncate keeps the wrong end, and cuts anywhere.
func naiveTruncate(output string, limit int) string {
	if len(output) > limit {
		output = output[:limit]
	}
	return output
}

func TestNaiveTruncate(t *testing.T) {
	naive := naiveTruncate("crème brûlée", 3)
	require.Equal(t, "cr\xc3", naive)
	require.False(t, utf8.ValidString(naive))

	req := hosttest.CommandRequest("printf 'crème brûlée'")
	req.OutputByteLimit = new(uint64(3))
	out := hosttest.Run(t, hosttest.NewManager(t, nil), req)
	require.Equal(t, "ée", out.Output)
	require.True(t, out.Truncated)
}

// naiveOutput keeps the whole output in order to show a few bytes.
func naiveOutput(cmd *exec.Cmd, limit int) (last []byte, held int, err error) {
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err = cmd.Run()
	return all.Bytes()[max(0, all.Len()-limit):], all.Cap(), err
}

func TestNaiveOutput(t *testing.T) {
	const written = 16 << 20
	args := hosttest.ChildArgs("flood", strconv.Itoa(written), "65536")
	_, held, err := naiveOutput(exec.Command(args[0], args[1:]...), 1000)
	require.NoError(t, err)
	require.GreaterOrEqual(t, held, written)
	// TestBufferGrowsNoFurtherThanItsLimit shows that the library holds only the limit.
}

// naiveWait waits for every process that holds the pipe, not for the command.
func naiveWait(line string) (output string, err error) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdout = &out // not a file, so os/exec makes a pipe, and Wait reads it to its end
	if err := cmd.Start(); err != nil {
		return "", err
	}
	err = cmd.Wait()
	return out.String(), err
}

func TestNaiveWait(t *testing.T) {
	dir := t.TempDir()
	let, ended := filepath.Join(dir, "let"), filepath.Join(dir, "ended")
	line := "(until [ -e " + let + " ]; do sleep 0.01; done; touch " + ended + ") & echo started"

	m := hosttest.NewManager(t, nil)
	out := hosttest.Run(t, m, hosttest.CommandRequest(line)) // returns, though the child waits for a file not yet there
	require.Equal(t, "started\n", out.Output)
	require.NoError(t, m.ReleaseSession(t.Context(), "s"))
	require.NoFileExists(t, ended)

	require.NoError(t, os.WriteFile(let, nil, 0o600))
	output, err := naiveWait(line)
	require.NoError(t, err)
	require.Equal(t, "started\n", output)
	require.FileExists(t, ended) // it returned when the child had ended
}

// naiveKill kills one process of many.
func naiveKill(cmd *exec.Cmd) error {
	return cmd.Process.Kill()
}

func TestNaiveKill(t *testing.T) {
	const line = "sleep 300 >/dev/null & echo $!; wait"
	cmd := exec.Command("sh", "-c", line)
	stdout := hosttest.Must(cmd.StdoutPipe())
	require.NoError(t, cmd.Start())
	child := make([]byte, 20)
	n, err := stdout.Read(child)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(child[:n])))
	require.NoError(t, err)
	require.NoError(t, naiveKill(cmd))
	require.Error(t, cmd.Wait())
	require.NoError(t, syscall.Kill(pid, 0), "the child should have been left")
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))

	term := hosttest.Create(t, hosttest.NewManager(t, nil), hosttest.CommandRequest(line))
	for chunk := range term.Follow(t.Context(), 0) {
		if strings.HasSuffix(chunk.Text, "\n") {
			break
		}
	}
	require.NoError(t, term.Kill(t.Context())) // NewManager's cleanup looks for leaks
}

// naiveTerminal holds its lock while it waits.
type naiveTerminal struct {
	mu  sync.Mutex
	cmd *exec.Cmd
}

func (t *naiveTerminal) WaitForExit() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cmd.Wait()
}

func (t *naiveTerminal) Kill() error {
	t.mu.Lock() // for as long as somebody waits
	defer t.mu.Unlock()
	return t.cmd.Process.Kill()
}

func TestNaiveLock(t *testing.T) {
	term := &naiveTerminal{cmd: exec.Command("sleep", "300")}
	require.NoError(t, term.cmd.Start())
	waited, killed := make(chan error), make(chan error)
	go func() { waited <- term.WaitForExit() }()
	for term.mu.TryLock() { // until the wait has it
		term.mu.Unlock()
	}
	go func() { killed <- term.Kill() }()
	require.NoError(t, term.cmd.Process.Signal(syscall.Signal(0)), "it should run")
	require.NoError(t, term.cmd.Process.Signal(syscall.SIGTERM)) // no agent can send it
	require.ErrorContains(t, <-waited, "terminated")
	require.ErrorIs(t, <-killed, os.ErrProcessDone, "the kill should have come when there was nothing to kill")
	// TestWireKillEndsAPendingWait shows that the library's waits do not block a kill.
}

// naiveCommand uses the agent's variables as the whole environment, and looks the program up with a different PATH from
// the command's.
func naiveCommand(req acpterm.CreateTerminalRequest) *exec.Cmd {
	cmd := exec.Command(req.Command, req.Args...)
	for _, v := range req.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	return cmd
}

func TestNaiveCommand(t *testing.T) {
	t.Setenv("OF_THE_HOST", "here")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "acpterm-tool"), []byte("#!/bin/sh\necho tool\n"), 0o700))
	m := hosttest.NewManager(t, nil)

	req := acpterm.CreateTerminalRequest{SessionID: "s", Command: "/bin/sh", Args: []string{"-c", "pwd; echo $OF_THE_HOST"}, Cwd: dir,
		Env: []acpterm.EnvVariable{{Name: "CI", Value: "1"}}}
	output, err := naiveCommand(req).Output()
	require.NoError(t, err)
	require.NotContains(t, string(output), dir)
	require.NotContains(t, string(output), "here")
	require.Equal(t, dir+"\nhere\n", hosttest.Run(t, m, req).Output)

	req = acpterm.CreateTerminalRequest{SessionID: "s", Command: "acpterm-tool", Env: []acpterm.EnvVariable{{Name: "PATH", Value: dir}}}
	require.ErrorIs(t, naiveCommand(req).Run(), exec.ErrNotFound)
	require.Equal(t, "tool\n", hosttest.Run(t, m, req).Output)
}

// naiveConn ends when the agent prints something.
func naiveConn(ctx context.Context, agentStdio io.ReadWriteCloser, h jsonrpc2.Handler) *jsonrpc2.Conn {
	return jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(agentStdio), h)
}

func TestNaiveConn(t *testing.T) {
	handler := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) { return 1, nil })
	const print, request = "loading model\n", `{"jsonrpc":"2.0","id":1,"method":"x"}` + "\n"

	ours, agent := net.Pipe()
	naive := naiveConn(t.Context(), ours, jsonrpc2.AsyncHandler(handler))
	io.WriteString(agent, print)
	<-naive.DisconnectNotify()
	agent.Close()

	ours, agent = net.Pipe()
	filtered := hosttest.Rest(t, ours, hosttest.Quietly())
	conn := jsonrpc2.NewConn(t.Context(), jsonrpc2.NewPlainObjectStream(filtered), jsonrpc2.AsyncHandler(handler))
	defer conn.Close()
	defer agent.Close()
	go io.WriteString(agent, print+request)
	var answers strings.Builder
	for buf := make([]byte, 1000); !strings.Contains(answers.String(), `"result":1`); {
		n, err := agent.Read(buf)
		require.NoError(t, err)
		answers.Write(buf[:n])
	}
}
