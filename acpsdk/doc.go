// Package acpsdk adds terminals to ACP clients built on the Go SDK, github.com/coder/acp-go-sdk. Embed *Terminals in
// the client's type to get the five terminal methods of acp.Client. With NoFiles embedded as well, only SessionUpdate
// and RequestPermission are left to implement. The client must call CloseTerminals when the connection ends.
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
// The methods behave like those of acpterm.Handler, and their errors have the same codes and data. The SDK cancels a
// method's context when the request ends, which does not affect the command.
//
// # Sessions
//
// An agent may create a terminal right after answering session/new, before the SDK's NewSession has returned. If
// acpterm.Options.RequireSessions is set, open sessions in Options.NewSession, which runs before the request is read.
//
// # Commands that the agent runs
//
// If Options.AgentTerminals is set, the commands run by the agent itself also appear as terminals of the manager. They
// are taken from the agent's session/update notifications, which this package reads before the SDK does. ACP v2's
// terminal_update and terminal_output_chunk are not passed on to the SDK, which does not know them.
//
// # Limits of the SDK
//
// An agent built on the SDK closes its connection if a line is longer than 10 MiB, and a single byte of output can take
// up to six bytes of a line. Output that does not fit is cut at the beginning, by whole characters, and truncated is
// set to true (see Options.MaxLineBytes).
//
// The protocol allows output limits above the maximum int, but the SDK rejects them before the client sees the request.
// Connect therefore lowers them to the maximum int. With acp.NewClientSideConnection, use NewReader to do the same.
//
// The SDK serves requests concurrently and in any order, even if the agent did not wait for the response to the
// previous one. It does not limit the number of pending requests.
package acpsdk
