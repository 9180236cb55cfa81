// Package agent lets agents of the Agent Client Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals)
// run commands in terminals, over github.com/sourcegraph/jsonrpc2. A [Client] calls the terminal/* methods of any ACP
// client. If the client has no terminals, [Terminals] runs commands in the agent itself and shows them to the user.
//
//	caps, err := ReadClientCapabilities(params) // in the handler of initialize
//	c := agent.NewClient(conn, caps, nil)
//
// Calling a method that the client does not advertise fails with an [acpterm.CapabilityError], and nothing is sent. Use
// [Client.Supports] and [Client.FilterMethods] to find out which methods can be offered to a model.
//
// # Running a command
//
// [Client.Run] runs a command with a timeout in the way ACP recommends: it creates a terminal, waits for the command,
// kills it if the timeout expires, reads the final output and releases the terminal.
//
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	result, err := c.Run(ctx, request, agent.RunOptions{Timeout: time.Minute})
//	if result.Outcome == agent.TimedOut {
//
// # A handle per terminal
//
// [Client.Use] and [Client.Create] create a [Terminal], whose methods wait for the command and read its output. Use
// always releases the terminal. After Create, that is up to the caller.
//
//	t, err := c.Create(ctx, request)
//	if err != nil {
//		return err
//	}
//	defer t.Release(ctx) // sends the request even if ctx has ended
//
// # For every client
//
// [Terminals.Run] runs the command of a tool call and returns the same result for any client. It prefers the client's
// terminals and falls back to an [acpterm.Manager] in the agent, whose commands are shown as in ACP v2, by the _meta
// convention used with v1, or as plain text. Run also sends the tool call's updates. Create the Terminals before the
// connection, because their handler needs to see initialize and to serve terminal/cancel.
//
//	ts := agent.NewTerminals(m, nil)
//	conn := jsonrpc2.NewConn(ctx, stream, ts.Handler(handler))
//	result, err := ts.Run(ctx, agent.ToolCall{ID: "call_1", Request: request, Timeout: time.Minute})
//
// # The agent's own terminals
//
// In ACP v2, agents run commands and clients show them. A [Reporter] sends the command, the exact output and the exit
// status of any of a Manager's terminals, and its Handler serves terminal/cancel. Commands are never delayed by a
// client that does not read. An agent using [Terminals] gets its Reporter from [Terminals.Reporter].
//
//	r := agent.NewReporter(nil)
//	conn := jsonrpc2.NewConn(ctx, stream, r.Handler(handler))
//	t, err := m.Create(ctx, request, nil)
//	r.Report(t, nil)
//
// Like ACP v2, Reporter and Terminals are experimental. They follow the schema of npm's @agentclientprotocol/sdk 2.4.0
// and may change in any release.
//
// # Contexts
//
// A call returns when its context is done, even if a write to the connection is blocked. It sends $/cancel_request
// without waiting for the response. If the client creates a terminal despite the cancellation, it is released.
//
// jsonrpc2 calls handlers on the goroutine that reads from the connection. A handler must therefore call the methods of
// this package on another goroutine, for example with jsonrpc2.AsyncHandler, or else the responses are never read.
//
// # Errors
//
// A call fails with an [*Error] if the client responds with an error, the context is done or the connection is closed.
// Use errors.Is to check for a kind, such as [acpterm.ErrTerminalNotFound], or for jsonrpc2.ErrClosed if the connection
// may have been closed. Use errors.As to get the client's error as a *jsonrpc2.Error.
package agent
