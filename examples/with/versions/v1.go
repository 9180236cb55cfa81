package main

// ACP v1 on coder/acp-go-sdk, as in examples/with/acpsdk. The SDK need not send initialize itself. If the agent cancels
// a request ($/cancel_request), the SDK ends the context of the method, and acpsdk answers with -32800.

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/acpterm/acpterm/acpsdk"
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

func (c *conversation) promptV1(ctx context.Context, text string) (stopReason string, err error) {
	terminals := client{Terminals: acpsdk.New(c.manager, &acpsdk.Options{Created: c.show})}
	defer func() { err = errors.Join(err, terminals.CloseTerminals(ctx)) }()
	conn := terminals.Connect(terminals, c, c)
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	session, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	if err != nil {
		return "", err
	}
	prompt := []acp.ContentBlock{acp.TextBlock(text)}
	turn, err := conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: prompt})
	return string(turn.StopReason), err
}
