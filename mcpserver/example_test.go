package mcpserver_test

import (
	"context"
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
