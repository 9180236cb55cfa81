package main

// The example runs as it is, with an agent that is a process of its own: the test binary, with the SDK at its end too.

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	switch strings.Join(os.Args[1:], " ") {
	case "agent":
		a := &agent{ready: make(chan struct{})}
		a.client = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
		close(a.ready)
		<-a.client.Done()
	case "command":
		os.Stdout.WriteString("hello from a command\n")
	default:
		os.Setenv("GORACE", "atexit_sleep_ms=0") // else each child of the race detector's lives a second longer
		os.Exit(m.Run())
	}
}

// agent runs, whatever it is asked, one command, and says what that wrote.
type agent struct {
	acp.Agent               // nil: what the example does not ask for
	ready     chan struct{} // closed when client is set
	client    *acp.AgentSideConnection
	terminal  bool
}

func (a *agent) Initialize(_ context.Context, p acp.InitializeRequest) (acp.InitializeResponse, error) {
	a.terminal = p.ClientCapabilities.Terminal
	return acp.InitializeResponse{ProtocolVersion: p.ProtocolVersion}, nil
}

func (a *agent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

func (a *agent) Prompt(ctx context.Context, p acp.PromptRequest) (r acp.PromptResponse, err error) {
	if !a.terminal {
		return r, acp.NewInvalidRequest("no terminals")
	}
	<-a.ready
	created, err := a.client.CreateTerminal(ctx, acp.CreateTerminalRequest{
		SessionId: p.SessionId, Command: os.Args[0], Args: []string{"command"},
	})
	if err != nil {
		return r, err
	}
	wait := acp.WaitForTerminalExitRequest{SessionId: p.SessionId, TerminalId: created.TerminalId}
	if _, err = a.client.WaitForTerminalExit(ctx, wait); err != nil {
		return r, err
	}
	look := acp.TerminalOutputRequest{SessionId: p.SessionId, TerminalId: created.TerminalId}
	out, err := a.client.TerminalOutput(ctx, look)
	if err != nil {
		return r, err
	}
	said := acp.UpdateAgentMessageText(out.Output)
	err = a.client.SessionUpdate(ctx, acp.SessionNotification{SessionId: p.SessionId, Update: said})
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}

func TestExample(t *testing.T) {
	printed, out, err := os.Pipe()
	require.NoError(t, err)
	before := os.Stdout
	os.Stdout = out
	err = run(t.Context(), "run it", exec.Command(os.Args[0], "agent"))
	os.Stdout = before
	out.Close()
	text, _ := io.ReadAll(printed)
	require.NoError(t, err)
	require.Equal(t, "hello from a command\nend_turn\n", string(text))
}
