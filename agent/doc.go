// Package agent is for agents of the Agent Client Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals)
// on github.com/sourcegraph/jsonrpc2. A [Client] calls the terminal/* methods of any ACP client over a connection; for
// clients that have none, [Terminals] runs commands in the agent and shows them.
//
//	caps, err := ReadClientCapabilities(params) // in the handler of initialize
//	c := agent.NewClient(conn, caps, nil)
//
// A method that the client did not advertise is refused with an [acpterm.CapabilityError], and nothing is sent.
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
// [Client.Use] and [Client.Create] give a [Terminal], which waits for the command and reads its output. Use always
// releases it; after Create the caller has to.
//
//	t, err := c.Create(ctx, request)
//	if err != nil {
//		return err
//	}
//	defer t.Release(ctx) // is sent even if ctx has ended
//
// # For every client
//
// [Terminals.Run] runs the command of a tool call whatever the client can do, with the same result: in the client's
// terminal, or in an [acpterm.Manager] of the agent's, shown as ACP v2 does, by the _meta convention of v1, or as text.
// It sends the updates of the tool call. Its handler comes first, then the connection: it reads initialize, and serves
// terminal/cancel.
//
//	ts := agent.NewTerminals(m, nil)
//	conn := jsonrpc2.NewConn(ctx, stream, ts.Handler(handler))
//	result, err := ts.Run(ctx, agent.ToolCall{ID: "call_1", Request: request, Timeout: time.Minute})
//
// # The agent's own terminals
//
// In ACP v2 agents run commands, and clients show them. A [Reporter] sends what any terminal of a Manager runs, its
// output byte for byte, and its end; its Handler serves terminal/cancel. A client that does not read delays no command.
// An agent with [Terminals] uses theirs: [Terminals.Reporter].
//
//	r := agent.NewReporter(nil)
//	conn := jsonrpc2.NewConn(ctx, stream, r.Handler(handler))
//	t, err := m.Create(ctx, request, nil)
//	r.Report(t, nil)
//
// Reporter and Terminals are experimental, as ACP v2 is: they follow the schema of npm's @agentclientprotocol/sdk 2.4.0
// and may change in any release.
//
// # Contexts
//
// A call returns when its context ends, even while a write to the connection blocks. It then sends $/cancel_request and
// does not wait for the answer. A terminal that a cancelled create still creates is released.
//
// jsonrpc2 calls a handler from the goroutine that reads the connection. A handler that makes calls of this package has
// to do so in another goroutine, as with jsonrpc2.AsyncHandler, or their answers are never read.
//
// # Errors
//
// An answer with an error, a call whose context ended and a closed connection are an [*Error]; errors.Is finds its
// kind, such as [acpterm.ErrTerminalNotFound], and errors.As the *jsonrpc2.Error that the client answered with.
// errors.Is(err, jsonrpc2.ErrClosed) reports a closed connection.
package agent
