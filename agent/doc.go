// Package agent lets agents of the Agent Client Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals)
// use terminals over github.com/sourcegraph/jsonrpc2. A [Client] calls the terminal/* methods of any ACP client. For
// clients without terminals, [Terminals] runs commands in the agent and shows them to the user.
//
//	caps, err := ReadClientCapabilities(params) // in the handler of initialize
//	c := agent.NewClient(conn, caps, nil)
//
// Calling a method not advertised by the client sends nothing and fails with an [acpterm.CapabilityError]. Use
// [Client.Supports] and [Client.FilterMethods] to find out which methods can be offered to a model.
//
// # Running a command
//
// [Client.Run] runs a command with a timeout, as ACP recommends: it creates a terminal, waits, kills the command after
// the timeout, reads the final output and releases the terminal.
//
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	result, err := c.Run(ctx, request, agent.RunOptions{Timeout: time.Minute})
//	if result.Outcome == agent.TimedOut {
//
// # A handle per terminal
//
// [Client.Use] and [Client.Create] create a [Terminal], which can be used to wait for the command and to read its
// output. Use always releases the terminal. After Create, the caller must release it.
//
//	t, err := c.Create(ctx, request)
//	if err != nil {
//		return err
//	}
//	defer t.Release(ctx) // sends the request even if ctx has ended
//
// # For every client
//
// [Terminals.Run] runs the command of a tool call for any client, with the same result. It uses the client's terminal
// if possible, and otherwise an [acpterm.Manager] of the agent. The Manager's commands are shown as in ACP v2, by the
// _meta convention of v1, or as text. Run also sends the updates of the tool call. Create the Terminals before the
// connection, because their handler has to read initialize and serve terminal/cancel.
//
//	ts := agent.NewTerminals(m, nil)
//	conn := jsonrpc2.NewConn(ctx, stream, ts.Handler(handler))
//	result, err := ts.Run(ctx, agent.ToolCall{ID: "call_1", Request: request, Timeout: time.Minute})
//
// # The agent's own terminals
//
// In ACP v2, agents run commands and clients show them. A [Reporter] sends the command, the exact output and the exit
// status of any terminal of a Manager, and its Handler serves terminal/cancel. A command is never delayed by a client
// that does not read. An agent using [Terminals] gets its Reporter from [Terminals.Reporter].
//
//	r := agent.NewReporter(nil)
//	conn := jsonrpc2.NewConn(ctx, stream, r.Handler(handler))
//	t, err := m.Create(ctx, request, nil)
//	r.Report(t, nil)
//
// Reporter and Terminals are experimental, like ACP v2. They follow the schema of npm's @agentclientprotocol/sdk 2.4.0
// and may change in any release.
//
// # Contexts
//
// A call returns when its context is done, even if a write to the connection is blocked. It then sends $/cancel_request
// without waiting for the answer. If the client creates a terminal for a cancelled create anyway, it is released.
//
// jsonrpc2 calls handlers on the goroutine that reads from the connection. A handler must therefore call the methods of
// this package on another goroutine, for example by using jsonrpc2.AsyncHandler. Otherwise the answers are never read.
//
// # Errors
//
// A call fails with an [*Error] if the client answers with an error, the context is done or the connection is closed.
// Use errors.Is to test for its kind, such as [acpterm.ErrTerminalNotFound], or for jsonrpc2.ErrClosed, which indicates
// a closed connection. Use errors.As to get the client's answer as a *jsonrpc2.Error.
package agent
