// Package acpsdk provides terminals to ACP clients built on the Go SDK, github.com/coder/acp-go-sdk. A client type that
// embeds *Terminals has the five terminal methods of acp.Client. If it also embeds NoFiles, it only needs SessionUpdate
// and RequestPermission to implement acp.Client. The client must call CloseTerminals when the connection ends.
//
//	type client struct {
//		*acpsdk.Terminals
//		acpsdk.NoFiles
//	}
//
//	m, err := acpterm.NewManager(nil) // one for the whole program, if you like
//	defer m.Close()
//	c := &client{Terminals: acpsdk.New(m, nil)} // one for each connection
//	defer c.CloseTerminals()
//	conn := c.Connect(c, agentStdin, agentStdout)
//	conn.Initialize(ctx, acp.InitializeRequest{
//		ProtocolVersion:    acp.ProtocolVersionNumber,
//		ClientCapabilities: c.ClientCapabilities(),
//	})
//
// The methods behave like those of acpterm.Handler, and their errors have the same codes and data. The SDK ends a
// method's context with the request; commands do not depend on it.
//
// # Sessions
//
// An agent may create a terminal right after its answer to session/new, before the SDK's NewSession has returned. With
// acpterm.Options.RequireSessions, open sessions in Options.NewSession. It is called before that request is read.
//
// # Commands that the agent runs
//
// With Options.AgentTerminals, the manager also has terminals for the commands that the agent runs itself. The package
// creates them from the agent's session/update notifications, and reads these before the SDK does. It withholds ACP
// v2's terminal_update and terminal_output_chunk from the SDK, which does not know them.
//
// # Limits of the SDK
//
// An agent built on the SDK closes its connection after a line of more than 10 MiB. A byte of output may need up to six
// bytes in such a line. Output that does not fit loses whole characters at its beginning, and truncated is true (see
// Options.MaxLineBytes).
//
// The SDK refuses an output limit above int before the client receives it, although the protocol allows such limits.
// Connect lowers the limit to the highest int. With acp.NewClientSideConnection, use NewReader, which also lowers it.
//
// The SDK serves requests concurrently and in any order, even if an agent sends a request before the answer to another.
// It does not limit the number of pending requests.
package acpsdk
