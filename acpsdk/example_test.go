package acpsdk_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	acp "github.com/coder/acp-go-sdk"
)

// editor is the client's own type. It gets the five terminal methods from Terminals.
type editor struct {
	*acpsdk.Terminals
	noFiles // the other methods of acp.Client
}

// Open each session with the project's directories as its roots.
func ExampleTerminals_Connect() {
	m, err := acpterm.NewManager(&acpterm.Options{RequireSessions: true})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	e := &editor{Terminals: acpsdk.New(m, &acpsdk.Options{NewSession: func(s acpsdk.Session) {
		roots := append([]string{s.Cwd}, s.AdditionalDirectories...)
		if err := m.OpenSession(s.ID, &acpterm.SessionOptions{Roots: roots}); err != nil {
			slog.Warn("the agent's session cannot have terminals", "error", err)
		}
	}})}
	defer e.CloseTerminals(context.Background())
	stdin, stdout := startAgent()
	defer stdin.Close()
	conn := e.Connect(e, stdin, stdout)

	ctx := context.Background()
	_, err = conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion:    acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Terminal: e.TerminalCapability()},
	})
	if err != nil {
		panic(err)
	}
	session, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: os.TempDir(), McpServers: []acp.McpServer{}})
	if err != nil {
		panic(err)
	}
	fmt.Println(session.SessionId)
	prompt := []acp.ContentBlock{acp.TextBlock("go")}
	turn, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: prompt})
	fmt.Println(turn.StopReason, err)
	// Output:
	// s1
	// end_turn <nil>
}

// startAgent starts an agent that creates a terminal in each turn.
func startAgent() (stdin io.WriteCloser, stdout io.Reader) {
	w := newWires()
	a := new(terminalAgent)
	a.client = acp.NewAgentSideConnection(a, w.toClient, w.fromClient)
	a.client.SetLogger(slog.New(slog.DiscardHandler))
	go func() {
		<-a.client.Done()
		w.toClient.Close()
	}()
	return w.toAgent, w.fromAgent
}

type terminalAgent struct {
	acp.Agent // nil
	client    *acp.AgentSideConnection
}

func (*terminalAgent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (*terminalAgent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionId: "s1"}, nil
}

func (a *terminalAgent) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	r := request("exit", "0")
	r.SessionId = p.SessionId
	created, err := a.client.CreateTerminal(ctx, r)
	if err == nil {
		wait := acp.WaitForTerminalExitRequest{SessionId: p.SessionId, TerminalId: created.TerminalId}
		_, err = a.client.WaitForTerminalExit(ctx, wait)
	}
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, err
}
