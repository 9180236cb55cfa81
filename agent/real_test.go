package agent_test

// Tests with real commands, and with a Handler and a Manager on the other side of two pipes.

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agent"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// childVariable makes the test binary act as a command.
const childVariable = "ACPTERM_AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "print":
		fmt.Print("hello\n")
		os.Exit(3)
	case "flood":
		flood(os.Stdout)
		os.Exit(0)
	case "sleep":
		fmt.Print("ready\n")
		time.Sleep(time.Hour)
	}
	racetest.Restart()
	os.Exit(m.Run())
}

// child returns a request for such a command.
func child(t *testing.T, name string) acpterm.CreateTerminalRequest {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return acpterm.CreateTerminalRequest{
		SessionID: "s", Command: path, Args: []string{"-test.run=^$"}, Env: []acpterm.EnvVariable{{Name: childVariable, Value: name}},
	}
}

// connect returns an agent's Client and the Manager that serves it. At the end of the test, it closes the connection
// and checks that all goroutines have ended.
func connect(t *testing.T, options *acpterm.HandlerOptions) (*agent.Client, *acpterm.Manager) {
	t.Helper()
	fromAgent, toClient, err := os.Pipe()
	require.NoError(t, err)
	fromClient, toAgent, err := os.Pipe()
	require.NoError(t, err)
	m := must(acpterm.NewManager(nil))
	h := acpterm.NewHandler(m, options)
	client := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentproc.JoinStdio(fromAgent, toAgent)), h)
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(agentproc.JoinStdio(fromClient, toClient)), nil)
	t.Cleanup(func() {
		conn.Close()
		<-client.DisconnectNotify()
		require.NoError(t, h.Close())
		require.NoError(t, m.Close())
		require.Eventually(t, func() bool {
			buf := make([]byte, 1<<20)
			return !strings.Contains(string(buf[:runtime.Stack(buf, true)]), "acpterm/agent.(")
		}, time.Minute, time.Millisecond, "goroutines are left")
	})
	return agent.NewClient(conn, terminals, nil), m
}

func TestRealRun(t *testing.T) {
	c, m := connect(t, nil)
	result, err := c.Run(t.Context(), child(t, "print"), agent.RunOptions{Timeout: time.Minute})
	require.NoError(t, err)
	status := &acpterm.TerminalExitStatus{ExitCode: new(uint32(3)), Meta: result.ExitStatus.Meta}
	require.Equal(t, agent.Result{
		Outcome: agent.Completed, Output: "hello\n", ExitStatus: status, TerminalID: result.TerminalID,
	}, result)
	require.NotEmpty(t, result.TerminalID)

	request := child(t, "print")
	request.OutputByteLimit = new(uint64(3))
	agent.AskForHead(&request, 2)
	result, err = c.Run(t.Context(), request, agent.RunOptions{Timeout: time.Minute})
	require.NoError(t, err)
	require.Equal(t, "lo\n", result.Output)
	require.Equal(t, &agent.Head{Text: "he", End: 2, OutputStart: 3}, result.Head)

	request = child(t, "sleep")
	request.OutputByteLimit = new(uint64(3))
	result, err = c.Run(t.Context(), request, agent.RunOptions{
		Timeout: time.Millisecond,
		Created: func(term *agent.Terminal) { pollFor(t, term, "dy\n") },
	})
	require.NoError(t, err)
	require.Equal(t, agent.TimedOut, result.Outcome)
	require.Equal(t, "dy\n", result.Output)
	require.True(t, result.Truncated)
	require.False(t, result.ExitStatus.Success())
	require.Empty(t, m.Terminals())
}

// pollFor polls the output until it contains a text.
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

// Concurrent Runs leave no terminal, whenever their contexts end.
func TestRealConcurrentRuns(t *testing.T) {
	c, m := connect(t, nil)
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Millisecond)
			defer cancel()
			c.Run(ctx, child(t, "sleep"), agent.RunOptions{Timeout: 20 * time.Millisecond})
		})
	}
	all.Wait()
	// A terminal of a cancelled create is released after Run has returned.
	require.Eventually(t, func() bool { return len(m.Terminals()) == 0 }, time.Minute, time.Millisecond)
}

// must returns a value, or panics if its creation failed.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// A client's answer to terminal/output reaches the agent with all fields.
func TestOutputHasEveryField(t *testing.T) {
	commands := acptermtest.Commands{"print": acptermtest.Print("a long text", 3)}
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: commands})
	c := acptermtest.Connect(t, acpterm.NewHandler(m, nil))
	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "print", OutputByteLimit: new(uint64(4))}
	agent.AskForHead(&request, 4)
	term, err := c.Create(t.Context(), request)
	require.NoError(t, err)
	_, err = term.Wait(t.Context())
	require.NoError(t, err)
	out, err := term.Output(t.Context())
	require.NoError(t, err)
	for _, field := range reflect.VisibleFields(reflect.TypeOf(out)) {
		require.NotZero(t, reflect.ValueOf(out).FieldByIndex(field.Index).Interface(), field.Name)
	}
	require.NoError(t, term.Release(t.Context()))
}
