package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/permission"
)

// An agent asks for permission and then creates the terminal: the user is asked once. The same command causes a second
// question the next time.
func Example() {
	ctx := context.Background()
	ask := func(_ context.Context, q acpterm.Question) acpterm.Answer {
		fmt.Println("a second question:", q.Command)
		return acpterm.Answer{}
	}
	choose := func(_ context.Context, r permission.Request) permission.Choice { // a dialog
		text, _ := r.Text(0)
		fmt.Print(text)
		for _, option := range r.Options {
			fmt.Println("button    ", option.Text(0))
		}
		return permission.Choice{Option: r.Options[0], By: "the user"}
	}

	var bridge permission.Bridge
	m, err := acpterm.NewManager(&acpterm.Options{
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		}),
		Approve: bridge.Approve(ask),
		Runner:  acptermtest.Commands{"go": acptermtest.Print("ok\n", 0)},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	requestPermission := func(ctx context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) (any, error) {
		request, err := permission.Read(*req.Params)
		if err != nil {
			return nil, acpterm.ResponseError(err)
		}
		return bridge.Answer(ctx, request, choose), nil
	}
	next := jsonrpc2.AsyncHandler(jsonrpc2.HandlerWithError(requestPermission))
	clientEnd, agentEnd := net.Pipe()
	h := acpterm.NewHandler(m, nil)
	client := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, clientEnd)), next)
	defer client.Close()

	agent := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(agentEnd), nil)
	defer agent.Close()
	var answer, terminal json.RawMessage
	err = agent.Call(ctx, "session/request_permission", json.RawMessage(`{"sessionId":"s1",
		"toolCall":{"toolCallId":"call1","title":"Run the tests","kind":"execute",
			"rawInput":{"command":["go","test","./..."]}},
		"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},
			{"optionId":"no","name":"No","kind":"reject_once"}]}`), &answer)
	fmt.Println(string(answer), err)
	create := json.RawMessage(`{"sessionId":"s1","command":"go","args":["test","./..."]}`)
	err = agent.Call(ctx, acpterm.MethodCreate, create, &terminal)
	fmt.Println("created:", terminal != nil, err)
	err = agent.Call(ctx, acpterm.MethodCreate, create, &terminal)
	fmt.Println(err)
	// Output:
	// title      "Run the tests"
	// command    "go" "test" "./..."
	// directory  the session's
	// button     allow once: "Yes"
	// button     reject once: "No"
	// {"outcome":{"outcome":"selected","optionId":"yes"}} <nil>
	// created: true <nil>
	// a second question: go test ./...
	// jsonrpc2: code -32602 message: acpterm: create: "go test ./...": it was not approved
}
