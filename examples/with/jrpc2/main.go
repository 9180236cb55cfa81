// Jrpc2 is a client on creachadair/jrpc2: go run ./examples/with/jrpc2 "go version" go run ./examples/agent
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
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/display"
	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
)

type object map[string]any

func main() {
	ctx := context.Background()
	m, err1 := acpterm.NewManager(nil) // one for the whole program
	agent, err2 := agentproc.Start(ctx, exec.Command(os.Args[2], os.Args[3:]...), nil)
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal(err)
	}
	var shown sync.WaitGroup
	show := func(t *acpterm.Terminal) { shown.Go(func() { display.Follow(ctx, os.Stdout, t) }) }
	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Created: show})
	rest := h.Filter(ctx, agent) // all but terminal/*
	methods := handler.Map{"session/update": handler.New(update), "session/request_permission": handler.New(permit)}
	conn := jrpc2.NewServer(methods, &jrpc2.ServerOptions{AllowPush: true}).Start(channel.Line(rest, rest))
	dir, err := os.Getwd()
	var answer struct{ SessionID, StopReason string }
	call := func(method string, params object) { // does nothing after an error
		var response *jrpc2.Response
		if err == nil {
			response, err = conn.Callback(ctx, method, params)
		}
		if err == nil {
			err = response.UnmarshalResult(&answer)
		}
	}
	call("initialize", object{"protocolVersion": 1, "clientCapabilities": h.Capabilities()})
	call("session/new", object{"cwd": dir, "mcpServers": []any{}})
	call("session/prompt", object{"sessionId": answer.SessionID, "prompt": []object{{"type": "text", "text": os.Args[1]}}})
	err = errors.Join(err, h.Close(), agent.Close(), conn.Wait(), m.Close()) // Wait returns after the last update
	shown.Wait()
	fmt.Println(display.Visible(answer.StopReason, 80))
	if err != nil {
		status, _ := agent.Wait(ctx) // the error of a closed connection does not say how the agent ended
		log.Fatal(display.Visible(err.Error(), 0), "; the agent: ", status)
	}
}

func update(_ context.Context, p struct{ Update map[string]any }) error {
	content, _ := p.Update["content"].(map[string]any) // a tool call's is an array
	if text, _ := content["text"].(string); p.Update["sessionUpdate"] == "agent_message_chunk" {
		fmt.Print(display.StripANSI(text))
	}
	return nil
}

func permit(_ context.Context, p struct{ Options []struct{ OptionID string } }) (any, error) {
	if len(p.Options) == 0 {
		return nil, jrpc2.InvalidParams.Err()
	}
	// A real client asks its user.
	return object{"outcome": object{"outcome": "selected", "optionId": p.Options[0].OptionID}}, nil
}
