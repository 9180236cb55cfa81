// Package acpsdk is for ACP clients on the Go SDK, github.com/coder/acp-go-sdk. A client's type that embeds a
// *Terminals has the five terminal methods of acp.Client; one that embeds NoFiles, too, needs only SessionUpdate and
// RequestPermission to be one. The client calls CloseTerminals when the connection ends.
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
// The methods behave as those of acpterm.Handler, with the same codes and data in errors. The SDK ends a method's
// context with the request; commands do not depend on it.
//
// # Sessions
//
// An agent may create a terminal right after its answer to session/new, before the SDK's NewSession has returned. With
// acpterm.Options.RequireSessions, open sessions in Options.NewSession, which is called before that request is read.
//
// # Commands that the agent runs
//
// With Options.AgentTerminals, what the agent sends in session/update of commands that it runs itself makes terminals
// of the manager. It is read before the SDK reads it. The SDK does not get ACP v2's terminal_update and
// terminal_output_chunk, which it does not know.
//
// # Limits of the SDK
//
// An agent made with the SDK closes its connection after a line of more than 10 MiB, in which a byte of output may take
// six. Output that does not fit loses whole characters at its beginning, and truncated is true (Options.MaxLineBytes).
//
// The SDK refuses an output limit above int, which the protocol allows, before the client receives it. Connect lowers
// it to the highest int; so does NewReader, for use with acp.NewClientSideConnection.
//
// The SDK serves requests concurrently and in any order, even if an agent sends one before the answer to another. It
// does not limit the number of pending requests.
package acpsdk
