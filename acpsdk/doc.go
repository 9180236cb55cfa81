// Package acpsdk gives terminals to an ACP client that is made with the Go SDK, github.com/coder/acp-go-sdk. Embedding
// a *Terminals gives the client's type the five terminal methods of acp.Client:
//
//	type client struct {
//		*acpsdk.Terminals
//		// …
//	}
//
//	m := acpterm.NewManager(nil) // one for the whole program, if you like
//	defer m.Close()
//	c := &client{Terminals: acpsdk.New(m, nil)} // one for each connection
//	defer c.CloseTerminals()
//	conn := c.Connect(c, agentStdin, agentStdout)
//	conn.Initialize(ctx, acp.InitializeRequest{
//		ProtocolVersion:    acp.ProtocolVersionNumber,
//		ClientCapabilities: acp.ClientCapabilities{Terminal: c.TerminalCapability()},
//	})
//
// What is served is what acpterm.Handler serves, with the same codes and data in errors. The context that the SDK gives
// a method ends with the request, and nothing that a terminal does depends on it.
//
// # Sessions
//
// An agent may ask for a terminal right after its answer to session/new, before the SDK's NewSession has returned. With
// acpterm.Options.RequireSessions, open sessions in Options.NewSession: it is called in time.
//
// # What the SDK cannot carry
//
// An agent made with the SDK ends its connection over a line of more than 10 MiB, and a byte of output may take six
// there. What does not fit is cut off the beginning of the output, in whole characters, and truncated is true
// then (Options.MaxLineBytes).
//
// The SDK refuses an output limit above int, which the protocol allows, before the client is asked. Connect makes it
// the highest int on its way in; so does NewReader, for those who call acp.NewClientSideConnection.
//
// The SDK serves requests concurrently and in no order: an agent that does not wait for the answer to one before it
// sends the next may have that served first. How many requests may be pending it does not bound.
package acpsdk
