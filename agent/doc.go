// Package agent lets agents that implement the Agent Client Protocol (ACP,
// https://agentclientprotocol.com/protocol/v1/terminals) run commands in terminals, using
// github.com/sourcegraph/jsonrpc2. A [Client] calls the terminal/* methods of any ACP client. If the client does not
// support terminals, [Terminals] runs commands in the agent itself and shows them to the user.
//
//	caps, err := ReadClientCapabilities(params) // in the handler of initialize
//	c := agent.NewClient(conn, caps, nil)
//
// If the client does not advertise a method, calling the method returns an [acpterm.CapabilityError] without sending
// anything. Use [Client.Supports] and [Client.FilterMethods] to find out which methods can be offered to a model.
//
// # Running a command
//
// [Client.Run] runs a command with a timeout in the way recommended by ACP: it creates a terminal, waits for the
// command to exit, kills the command if the timeout expires, reads the final output, and releases the terminal.
//
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	result, err := c.Run(ctx, request, agent.RunOptions{Timeout: time.Minute})
//	if result.Outcome == agent.TimedOut {
//
// # A handle per terminal
//
// [Client.Use] and [Client.Create] create a [Terminal], whose methods wait for the command and read its output. A
// terminal created by Use is always released automatically. If Create is used instead, it is the caller's
// responsibility to release the terminal.
//
//	t, err := c.Create(ctx, request)
//	if err != nil {
//		return err
//	}
//	defer t.Release(ctx) // sends the request even if ctx has ended
//
// # For every client
//
// [Terminals.Run] runs the command of a tool call and returns the same result regardless of the client. It uses the
// client's terminals if they are available, and otherwise falls back to an [acpterm.Manager] in the agent. In the
// latter case, commands are shown as specified by ACP v2, using the _meta convention for v1, or as plain text. Run also
// sends the updates for the tool call. Be sure to create the Terminals before the connection, because the connection's
// handler must see initialize and must serve terminal/cancel and tool_call/cancel.
//
//	ts := agent.NewTerminals(m, nil)
//	conn := jsonrpc2.NewConn(ctx, stream, ts.Handler(handler))
//	result, err := ts.Run(ctx, agent.ToolCall{ID: "call_1", Request: request, Timeout: time.Minute})
//
// # The agent's own terminals
//
// In ACP v2, agents run commands and clients display them. A [Reporter] sends the command, the exact output, and the
// exit status of any terminal in a Manager, and its Handler method serves terminal/cancel. If an agent uses
// [Terminals], it should obtain its Reporter by calling [Terminals.Reporter].
//
// Like ACP v2 itself, Reporter and Terminals are experimental. They are based on the schema in npm's
// @agentclientprotocol/sdk 2.4.0 and may change in any release.
//
// # Contexts
//
// A call returns as soon as its context is done, even if a write to the connection is blocked. In that case, the call
// sends $/cancel_request but does not wait for the response. If the client creates a terminal despite the cancellation,
// the terminal will be released.
//
// Note that jsonrpc2 calls handlers on the goroutine that reads from the connection. A handler must therefore call the
// methods of this package on another goroutine, for example by using jsonrpc2.AsyncHandler. Otherwise, the responses
// will never be read.
package agent
