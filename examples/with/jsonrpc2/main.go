// Jsonrpc2 is a client made with sourcegraph/jsonrpc2 whose agent can run commands: go run . PROMPT AGENT [ARG ...]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

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
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Next: jsonrpc2.HandlerWithError(next)}) // all but terminal/*
	conn := h.Connect(ctx, acpterm.NewStream(agent, nil))
	defer func() { conn.Close(); agent.Close(); m.Close() }()
	var answer struct{ SessionID, StopReason string }
	err1 = conn.Call(ctx, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}, nil)
	dir, _ := os.Getwd()
	err2 = conn.Call(ctx, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}, &answer)
	text := []any{map[string]string{"type": "text", "text": prompt}}
	err := conn.Call(ctx, "session/prompt", map[string]any{"sessionId": answer.SessionID, "prompt": text}, &answer)
	fmt.Println(answer.StopReason)
	return errors.Join(err1, err2, err, h.Close())
}

func next(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var p struct {
		Options []struct{ OptionID string }
		Update  struct{ SessionUpdate, Content any }
	}
	params, _ := json.Marshal(req.Params) // null if there are none
	json.Unmarshal(params, &p)
	content, _ := p.Update.Content.(map[string]any)
	switch {
	case p.Update.SessionUpdate == "agent_message_chunk" && content["text"] != nil:
		fmt.Print(content["text"])
	case req.Method == "session/request_permission" && len(p.Options) > 0: // a real client asks its user
		return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": p.Options[0].OptionID}}, nil
	case !req.Notif:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "not served: " + req.Method}
	}
	return nil, nil
}
