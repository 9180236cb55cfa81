// Acpsdk is a client made with the Go SDK whose agent can run commands: go run . PROMPT AGENT [ARG ...]
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	acp "github.com/coder/acp-go-sdk"
)

type client struct{ *acpsdk.Terminals } // the five terminal methods of acp.Client

func (client) ReadTextFile(context.Context, acp.ReadTextFileRequest) (r acp.ReadTextFileResponse, err error) {
	return r, acp.NewMethodNotFound(acp.ClientMethodFsReadTextFile)
}
func (client) WriteTextFile(context.Context, acp.WriteTextFileRequest) (r acp.WriteTextFileResponse, err error) {
	return r, acp.NewMethodNotFound(acp.ClientMethodFsWriteTextFile)
}
func (client) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	first := append(p.Options, acp.PermissionOption{})[0] // a real client asks its user
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(first.OptionId)}, nil
}
func (client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	if chunk := n.Update.AgentMessageChunk; chunk != nil && chunk.Content.Text != nil {
		fmt.Print(chunk.Content.Text.Text)
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Args[1], exec.Command(os.Args[2], os.Args[3:]...)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, prompt string, cmd *exec.Cmd) error {
	m, err1 := acpterm.NewManager(nil)
	agent, err2 := acpterm.StartAgent(ctx, cmd, nil)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	defer func() { agent.Close(); m.Close() }()
	c := client{acpsdk.New(m, nil)}
	conn := c.Connect(c, agent, agent)
	offer := acp.ClientCapabilities{Terminal: c.TerminalCapability()}
	_, err1 = conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: offer})
	dir, _ := os.Getwd()
	session, err2 := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	text := []acp.ContentBlock{acp.TextBlock(prompt)}
	turn, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: text})
	fmt.Println(turn.StopReason)
	return errors.Join(err1, err2, err, c.CloseTerminals())
}
