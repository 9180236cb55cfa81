// Package agent is for agents of the Agent Client Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals)
// on github.com/sourcegraph/jsonrpc2. A [Client] calls the terminal/* methods of any ACP client over a connection. For
// clients without terminals, [Terminals] runs commands in the agent and shows them.
//
//	caps, err := ReadClientCapabilities(params) // in the handler of initialize
//	c := agent.NewClient(conn, caps, nil)
//
// A call of a method that the client did not advertise sends nothing and fails with an [acpterm.CapabilityError].
// [Client.Supports] and [Client.FilterMethods] report which methods an agent can offer to a model.
//
// # Running a command
//
// [Client.Run] runs a command with a timeout as ACP recommends: create, wait, kill after the timeout, read the final
// output, release.
//
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	result, err := c.Run(ctx, request, agent.RunOptions{Timeout: time.Minute})
//	if result.Outcome == agent.TimedOut {
//
// # A handle per terminal
//
// [Client.Use] and [Client.Create] create a [Terminal], which waits for the command and reads its output. Use always
// releases the terminal. After Create, the caller must release it.
//
//	t, err := c.Create(ctx, request)
//	if err != nil {
//		return err
//	}
//	defer t.Release(ctx) // sends the request even if ctx has ended
//
// # For every client
//
// [Terminals.Run] runs the command of a tool call for any client, with the same result. It uses the client's terminal,
// or an [acpterm.Manager] of the agent. It shows the Manager's commands as ACP v2 does, by the _meta convention of v1,
// or as text. It sends the updates of the tool call. Create the Terminals before the connection, because their handler
// reads initialize and serves terminal/cancel.
//
//	ts := agent.NewTerminals(m, nil)
//	conn := jsonrpc2.NewConn(ctx, stream, ts.Handler(handler))
//	result, err := ts.Run(ctx, agent.ToolCall{ID: "call_1", Request: request, Timeout: time.Minute})
//
// # The agent's own terminals
//
// In ACP v2, agents run commands and clients show them. A [Reporter] sends the command, the exact output and the exit
// status of any terminal of a Manager. Its Handler serves terminal/cancel. A client that does not read never delays a
// command. An agent with [Terminals] uses [Terminals.Reporter].
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
// A call returns when its context ends, even while a write to the connection blocks. It then sends $/cancel_request and
// does not wait for the answer. If a cancelled create still creates a terminal, the terminal is released.
//
// jsonrpc2 calls a handler from the goroutine that reads the connection. A handler must call the methods of this
// package in another goroutine, as with jsonrpc2.AsyncHandler, or their answers are never read.
//
// # Errors
//
// Calls fail with an [*Error] if the client answers with an error, if the context ends or if the connection is closed.
// errors.Is finds its kind, such as [acpterm.ErrTerminalNotFound], and errors.As the *jsonrpc2.Error of the client's
// answer. errors.Is(err, jsonrpc2.ErrClosed) reports a closed connection.
package agent
