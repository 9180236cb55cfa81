package mcpserver_test

import (
	"encoding/json"
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/mcpserver"
)

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
