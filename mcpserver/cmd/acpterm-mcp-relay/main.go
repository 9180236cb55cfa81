// Command acpterm-mcp-relay connects an agent to the MCP server of its client. Clients name it in the mcpServers of
// session/new, so agents start it, and users need not.
package main

import (
	"fmt"
	"os"

	"github.com/acpterm/acpterm/mcpserver/internal/relay"
)

func main() {
	relay.Main()
	fmt.Fprintln(os.Stderr, "acpterm-mcp-relay is started by agents, as an entry of mcpServers in session/new tells them.")
	os.Exit(2)
}
