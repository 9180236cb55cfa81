// Jsonrpc2 is a client on sourcegraph/jsonrpc2: go run ./examples/with/jsonrpc2 "go version" go run ./examples/agent
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/display"
	"github.com/sourcegraph/jsonrpc2"
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
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, agent)), jsonrpc2.HandlerWithError(handle))
	dir, err := os.Getwd()
	var answer struct{ SessionID, StopReason string }
	call := func(method string, params object) { // does nothing after an error
		if err == nil {
			err = conn.Call(ctx, method, params, &answer)
		}
	}
	call("initialize", object{"protocolVersion": 1, "clientCapabilities": h.Capabilities()})
	call("session/new", object{"cwd": dir, "mcpServers": []any{}})
	call("session/prompt", object{"sessionId": answer.SessionID, "prompt": []object{{"type": "text", "text": os.Args[1]}}})
	err = errors.Join(err, h.Close(), agent.Close(), m.Close()) // ends the agent's commands, and then the agent
	shown.Wait()
	fmt.Println(display.Visible(answer.StopReason, 80))
	if err != nil {
		status, _ := agent.Wait(ctx) // "connection is closed" does not say how the agent ended
		log.Fatal(display.Visible(err.Error(), 0), "; the agent: ", status)
	}
}

// handle gets all messages except terminal/*. While it runs, nothing else is read.
func handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
	var p struct {
		Options []struct{ OptionID string }
		Update  struct {
			SessionUpdate string
			Content       struct{ Text string } // a tool call's has another shape, and stays empty
		}
	}
	params, _ := json.Marshal(req.Params)
	json.Unmarshal(params, &p)
	switch {
	case p.Update.SessionUpdate == "agent_message_chunk": // others are its thoughts, its tool calls …
		fmt.Print(display.StripANSI(p.Update.Content.Text))
	case req.Method == "session/request_permission" && len(p.Options) > 0: // a real client asks its user
		return object{"outcome": object{"outcome": "selected", "optionId": p.Options[0].OptionID}}, nil
	case !req.Notif:
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: req.Method}
	}
	return nil, nil
}
