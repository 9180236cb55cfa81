// Acpsdk is a client on coder/acp-go-sdk: go run ./examples/with/acpsdk "go version" go run ./examples/agent
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/display"
	acp "github.com/coder/acp-go-sdk"
)

type client struct { // an acp.Client
	*acpsdk.Terminals // its five methods for terminals
	acpsdk.NoFiles    // the two for files, which refuse
}

func (client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	if chunk := n.Update.AgentMessageChunk; chunk != nil && chunk.Content.Text != nil {
		fmt.Print(display.StripANSI(chunk.Content.Text.Text))
	}
	return nil
}

func (client) RequestPermission(
	_ context.Context, p acp.RequestPermissionRequest,
) (r acp.RequestPermissionResponse, err error) {
	if len(p.Options) == 0 {
		return r, acp.NewInvalidParams("there are no options")
	}
	r.Outcome = acp.NewRequestPermissionOutcomeSelected(p.Options[0].OptionId) // a real client asks its user
	return r, nil
}

func main() {
	ctx := context.Background()
	m, err1 := acpterm.NewManager(nil) // one for the whole program
	agent, err2 := agentproc.Start(ctx, exec.Command(os.Args[2], os.Args[3:]...), nil)
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	var shown sync.WaitGroup
	show := func(t *acpterm.Terminal) { shown.Go(func() { display.Follow(ctx, os.Stdout, t) }) }
	c := client{Terminals: acpsdk.New(m, &acpsdk.Options{Created: show})}
	conn := c.Connect(c, agent, agent)
	offer := acp.ClientCapabilities{Terminal: c.TerminalCapability()}
	_, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: offer})
	var session acp.NewSessionResponse
	if dir, _ := os.Getwd(); err == nil {
		session, err = conn.NewSession(ctx, acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	}
	var turn acp.PromptResponse
	if prompt := []acp.ContentBlock{acp.TextBlock(os.Args[1])}; err == nil {
		turn, err = conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: prompt})
	}
	err = errors.Join(err, c.CloseTerminals(ctx), agent.Close(), m.Close()) // ends the commands, then the agent
	shown.Wait()
	fmt.Println(display.Visible(string(turn.StopReason), 80))
	if err != nil {
		status, _ := agent.Wait(ctx) // "peer disconnected" does not say how the agent ended
		log.Fatal(display.Visible(err.Error(), 0), "; the agent: ", status)
	}
}
