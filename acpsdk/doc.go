// Package acpsdk adds terminals to ACP clients built on the Go SDK, github.com/coder/acp-go-sdk. To use it, embed a
// *Terminals in the type of the client, which provides the five terminal methods of acp.Client. If NoFiles is also
// embedded, SessionUpdate and RequestPermission are the only methods that remain to be implemented. The client must
// call CloseTerminals when the connection ends.
//
//	type client struct {
//		*acpsdk.Terminals
//		acpsdk.NoFiles
//	}
//
//	m, err := acpterm.NewManager(nil) // one for the whole program, if you like
//	defer m.Close()
//	c := &client{Terminals: acpsdk.New(m, nil)} // one for each connection
//	defer c.CloseTerminals(context.Background())
//	conn := c.Connect(c, agentStdin, agentStdout)
//	conn.Initialize(ctx, acp.InitializeRequest{
//		ProtocolVersion:    acp.ProtocolVersionNumber,
//		ClientCapabilities: c.ClientCapabilities(),
//	})
//
// The methods behave like those of acpterm.Handler and return errors with the same codes and data. Note that the SDK
// cancels the context of a method when the request ends, but that this cancellation does not affect the command.
//
// # Sessions
//
// An agent may create a terminal immediately after it responds to session/new, before the SDK's NewSession returns. If
// acpterm.Options.RequireSessions is set, sessions should therefore be opened in Options.NewSession, which is called
// before the request to create the terminal is read:
//
//	options := &acpsdk.Options{NewSession: func(s acpsdk.Session) {
//		roots := append([]string{s.Cwd}, s.AdditionalDirectories...)
//		err := m.OpenSession(s.ID, &acpterm.SessionOptions{Roots: roots}) // if it fails, terminals are refused
//	}}
//
// # Commands that the agent runs
//
// If Options.AgentTerminals is set, commands run by the agent itself also appear as terminals of the manager. They are
// obtained from the agent's session/update notifications, which this package reads before passing them to the SDK. The
// terminal_update and terminal_output_chunk updates of ACP v2 are not passed on, because the SDK does not recognize
// them.
//
// # Cancellation
//
// If the agent cancels a request ($/cancel_request), the SDK ends the context of the method. The request is then
// answered with -32800, and the terminal is untouched, except that a cancelled create leaves nothing running. The SDK
// cannot send terminal/cancel, so Terminal.Kill returns acpterm.ErrNotCancellable for commands that the agent runs. For
// agents of v2, use acpterm.Handler.Filter and package agentterm instead of the SDK.
//
// # Limits of the SDK
//
// An agent built on the SDK closes its connection if it receives a line longer than 10 MiB. Note that a single byte of
// output may occupy up to six bytes in a line. If the output does not fit, whole characters are removed from the
// beginning and truncated is set to true (see Options.MaxLineBytes).
//
// The protocol allows output limits above the maximum int, but the SDK rejects them before they reach the client. For
// this reason, Connect lowers such limits to the maximum int. To get the same behavior with
// acp.NewClientSideConnection, use NewReader.
//
// If an agent sends a request without waiting for the response to the previous one, the SDK may serve the two requests
// concurrently and in any order. The number of pending requests is not limited.
package acpsdk
