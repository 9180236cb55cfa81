package with

// Another agent of the tests: the test binary, on the Go SDK.

import (
	"context"
	"os"

	acp "github.com/coder/acp-go-sdk"
)

func serveSDKAgent() {
	a := &sdkAgent{ready: make(chan struct{})}
	a.client = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	close(a.ready)
	<-a.client.Done()
}

// sdkAgent runs, whatever it is asked, one command, and says what that wrote.
type sdkAgent struct {
	acp.Agent               // nil: what the clients do not ask for
	ready     chan struct{} // closed when client is set
	client    *acp.AgentSideConnection
	terminal  bool
}

func (a *sdkAgent) Initialize(_ context.Context, p acp.InitializeRequest) (acp.InitializeResponse, error) {
	a.terminal = p.ClientCapabilities.Terminal
	return acp.InitializeResponse{ProtocolVersion: p.ProtocolVersion}, nil
}

func (a *sdkAgent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

func (a *sdkAgent) Prompt(ctx context.Context, p acp.PromptRequest) (r acp.PromptResponse, err error) {
	if !a.terminal {
		return r, acp.NewInvalidRequest("no terminals")
	}
	<-a.ready
	created, err := a.client.CreateTerminal(ctx, acp.CreateTerminalRequest{
		SessionId: p.SessionId, Command: os.Args[0], Args: []string{"command", "hello"},
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
