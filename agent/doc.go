// Package agent is the other end of terminals: for people who write agents of the Agent Client Protocol (ACP,
// https://agentclientprotocol.com/protocol/v1/terminals) on github.com/sourcegraph/jsonrpc2. A [Client] calls the
// terminal/* methods of the client at the other end of a connection, whichever client that is.
//
//	caps, err := acpterm.ReadClientCapabilities(params) // in the handler of initialize
//	c := agent.NewClient(conn, caps)
//
// What the client did not advertise is refused before anything is sent, with an [acpterm.CapabilityError].
// [Client.Supports] and [Client.FilterMethods] say beforehand what can be offered to a model.
//
// # Running a command
//
// [Client.Run] is ACP's recipe for a command that may take too long: create, wait or expire, kill, final output,
// release.
//
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	result, err := c.Run(ctx, request, agent.RunOptions{Timeout: time.Minute})
//	if result.Outcome == agent.TimedOut {
//
// # A handle per terminal
//
// [Client.Use] and [Client.Create] give a [Terminal], to wait for the command and read its output as one likes. Use
// releases it, whatever happens; after Create that is the caller's to do.
//
//	t, err := c.Create(ctx, request)
//	if err != nil {
//		return err
//	}
//	defer t.Release(ctx) // is sent even if ctx has ended
//
// # Contexts
//
// A call returns when its context ends, even while the connection does not take what is written to it. The client is
// then sent $/cancel_request, and its answer is awaited no longer; but a terminal that it creates all the same is
// released.
//
// jsonrpc2 calls a handler from the goroutine that reads the connection. A handler that makes calls of this package has
// to do so in another goroutine, as with jsonrpc2.AsyncHandler, or their answers are never read.
//
// # Errors
//
// An answer with an error, a call that was given up and a connection that is gone are an [*Error]; errors.Is finds what
// kind it is, such as [acpterm.ErrTerminalNotFound], and errors.As the *jsonrpc2.Error that the client answered with.
// errors.Is(err, jsonrpc2.ErrClosed) tells that the connection is gone.
package agent
