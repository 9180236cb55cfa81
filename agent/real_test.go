package agent_test

// Against a real client: a Handler and its Manager at the other end of two pipes, and real commands.

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// childVariable makes the test binary a command of a test.
const childVariable = "ACPTERM_AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "print":
		fmt.Print("hello\n")
		os.Exit(3)
	case "sleep":
		fmt.Print("ready\n")
		time.Sleep(time.Hour)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of the race detector's lives a second longer
	os.Exit(m.Run())
}

// child is a request for such a command.
func child(t *testing.T, name string) acpterm.CreateTerminalRequest {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return acpterm.CreateTerminalRequest{
		SessionID: "s", Command: path, Args: []string{"-test.run=^$"}, Env: []acpterm.EnvVariable{{Name: childVariable, Value: name}},
	}
}

// connect returns an agent's Client and the Manager that serves it. When the test ends, the connection is ended, and
// nothing may be left.
func connect(t *testing.T) (*agent.Client, *acpterm.Manager) {
	t.Helper()
	fromAgent, toClient, err := os.Pipe()
	require.NoError(t, err)
	fromClient, toAgent, err := os.Pipe()
	require.NoError(t, err)
	m := acpterm.NewManager(nil)
	h := acpterm.NewHandler(m, nil)
	client := jsonrpc2.NewConn(context.Background(), acpterm.NewStream(acpterm.JoinStdio(fromAgent, toAgent)), h)
	conn := jsonrpc2.NewConn(context.Background(), acpterm.NewStream(acpterm.JoinStdio(fromClient, toClient)), nil)
	t.Cleanup(func() {
		conn.Close()
		<-client.DisconnectNotify()
		require.NoError(t, h.Close())
		require.NoError(t, m.Close())
		require.Eventually(t, func() bool {
			buf := make([]byte, 1<<20)
			return !strings.Contains(string(buf[:runtime.Stack(buf, true)]), "acpterm/agent.(")
		}, 5*time.Second, time.Millisecond, "goroutines are left")
	})
	return agent.NewClient(conn, h.Capabilities()), m
}

func TestRealCompletes(t *testing.T) {
	c, m := connect(t)
	result, err := c.Run(t.Context(), child(t, "print"), agent.RunOptions{Timeout: time.Minute})
	require.NoError(t, err)
	require.Equal(t, agent.Completed, result.Outcome)
	require.Equal(t, "hello\n", result.Output)
	require.False(t, result.Truncated)
	require.Equal(t, uint32(3), *result.ExitStatus.ExitCode)
	_, err = m.Terminal("s", result.TerminalID)
	require.ErrorIs(t, err, acpterm.ErrTerminalNotFound, "it is released")
}

func TestRealTimesOut(t *testing.T) {
	c, m := connect(t)
	request := child(t, "sleep")
	request.OutputByteLimit = new(uint64(3))
	result, err := c.Run(t.Context(), request, agent.RunOptions{
		Timeout: time.Millisecond,
		Created: func(term *agent.Terminal) { pollFor(t, term, "dy\n") },
	})
	require.NoError(t, err)
	require.Equal(t, agent.TimedOut, result.Outcome)
	require.Equal(t, "dy\n", result.Output)
	require.True(t, result.Truncated)
	require.NotNil(t, result.ExitStatus)
	_, err = m.Terminal("s", result.TerminalID)
	require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
}

// pollFor asks for the output until it has a text.
func pollFor(t *testing.T, term *agent.Terminal, text string) {
	for {
		out, err := term.Output(t.Context())
		require.NoError(t, err)
		if strings.Contains(out.Output, text) {
			require.Nil(t, out.ExitStatus)
			return
		}
	}
}

func TestRealLife(t *testing.T) {
	c, _ := connect(t)
	term, err := c.Create(t.Context(), child(t, "sleep"))
	require.NoError(t, err)
	pollFor(t, term, "ready\n")
	ctx, stop := context.WithCancel(t.Context())
	given := make(chan error)
	go func() {
		_, err := term.Wait(ctx)
		given <- err
	}()
	stop()
	require.ErrorIs(t, <-given, context.Canceled)
	require.NoError(t, term.Kill(t.Context()))
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.False(t, status.Success())
	require.NoError(t, term.Release(t.Context()))
	require.NoError(t, term.Release(t.Context()))
}

// Many at once, some of which are given up at any moment, leave no terminal.
func TestRealManyAtOnce(t *testing.T) {
	c, m := connect(t)
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Millisecond)
			defer cancel()
			c.Run(ctx, child(t, "sleep"), agent.RunOptions{Timeout: 20 * time.Millisecond})
		})
	}
	all.Wait()
	// One whose create was given up is released behind the caller's back.
	require.Eventually(t, func() bool { return len(m.Terminals()) == 0 }, 30*time.Second, time.Millisecond)
}

// What the real client refuses keeps its kind on the way.
func TestRealErrors(t *testing.T) {
	c, m := connect(t)
	_, err := c.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "no-such-program"})
	require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
	_, err = c.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x", Cwd: "relative"})
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	term, err := c.Create(t.Context(), child(t, "sleep"))
	require.NoError(t, err)
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	_, err = term.Output(t.Context())
	require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
	require.NoError(t, term.Release(t.Context()))
}

// A client that serves less than it said.
func TestRealRefusal(t *testing.T) {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	m := acpterm.NewManager(nil)
	defer m.Close()
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{
		Capabilities: new(acpterm.ClientCapabilities), SupportedMethods: []string{"fs/read_text_file"},
	})
	client := jsonrpc2.NewConn(t.Context(), acpterm.NewStream(acpterm.JoinStdio(clientIn, clientOut)), h)
	defer client.Close()
	conn := jsonrpc2.NewConn(t.Context(), acpterm.NewStream(acpterm.JoinStdio(agentIn, agentOut)), nil)
	defer conn.Close()
	_, err := agent.NewClient(conn, terminals).Create(t.Context(), request)
	var refused *acpterm.CapabilityError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, &acpterm.CapabilityError{
		Method: acpterm.MethodCreate, RequiredCapability: "clientCapabilities.terminal",
		SupportedMethods: []string{"fs/read_text_file"},
	}, refused)
}
