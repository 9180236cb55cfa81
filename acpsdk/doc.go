// Package acpsdk provides terminals to ACP clients built on the Go SDK, github.com/coder/acp-go-sdk. A client type
// embedding *Terminals has the five terminal methods of acp.Client. If it also embeds NoFiles, only SessionUpdate and
// RequestPermission are missing to implement acp.Client. The client must call CloseTerminals when the connection ends.
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
// The methods behave like those of acpterm.Handler and return errors with the same codes and data. The SDK cancels a
// method's context when the request ends, but this does not affect the command.
//
// # Sessions
//
// An agent may create a terminal immediately after answering session/new, before the SDK's NewSession has returned. If
// acpterm.Options.RequireSessions is set, open sessions in Options.NewSession. It is called before the create is read.
//
// # Commands that the agent runs
//
// If Options.AgentTerminals is set, the manager also has terminals for the commands run by the agent itself. They are
// created from the agent's session/update notifications, which this package reads before the SDK does. ACP v2's
// terminal_update and terminal_output_chunk are not passed on, because the SDK does not know them.
//
// # Limits of the SDK
//
// An agent built on the SDK closes its connection if a line is longer than 10 MiB. A byte of output may need up to six
// bytes in such a line. If the output does not fit, whole characters are removed from its beginning, and truncated is
// set to true (see Options.MaxLineBytes).
//
// The SDK refuses an output limit above the maximum int before the client receives it, although the protocol allows
// such limits. Connect lowers the limit to the maximum int. With acp.NewClientSideConnection, use NewReader for that.
//
// The SDK serves requests concurrently and in any order, even if an agent sends a request before getting the answer to
// the previous one. It does not limit the number of pending requests.
package acpsdk
