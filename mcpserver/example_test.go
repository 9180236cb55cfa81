package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/mcpserver"
)

// An agent in the same program runs a command. Commands are scripts here, so that the example runs everywhere.
func Example() {
	ctx := context.Background()
	m, err := acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{
		"go test ./...": acptermtest.Print("ok\texample.com/pkg\n", 0),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	s := mcpserver.New(m, nil)
	defer s.Close()

	near, far := mcp.NewInMemoryTransports()
	go s.Run(ctx, far)
	agent, err := mcp.NewClient(&mcp.Implementation{Name: "agent"}, nil).Connect(ctx, near, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	result, err := agent.CallTool(ctx, &mcp.CallToolParams{
		Name: "run", Arguments: map[string]any{"command": "go test ./..."},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	structured := result.StructuredContent.(map[string]any)
	fmt.Printf("%s%s %v\n", structured["output"], structured["state"], structured["exit_code"])
	// Output:
	// ok	example.com/pkg
	// ended 0
}

func ExampleServer_Entry() {
	m, err := acpterm.NewManager(nil)
	if err != nil {
		panic(err)
	}
	defer m.Close()
	s := mcpserver.New(m, nil)
	defer s.Close()
	l, err := mcpserver.Listen(nil) // one for the whole program
	if err != nil {
		panic(err)
	}
	defer l.Close()

	// The agent's response to initialize:
	reply := json.RawMessage(`{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`)
	entry, err := s.Entry(l, "terminals", reply)
	if err != nil {
		panic(err)
	}
	defer entry.Close() // when the agent's session is closed

	newSession := map[string]any{"cwd": "/home/user/project", "mcpServers": []any{entry}}
	fmt.Println(len(newSession), entry.Type, entry.Name, entry.Headers[0].Name)
	// Output: 2 http terminals Authorization
}
