// Package acpterm runs commands for coding agents: it is the terminal/* part of a client of the Agent Client
// Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals).
//
// A [Manager] makes terminals. A terminal is one command, from its start to its release, with its output.
//
//	m := acpterm.NewManager(nil)
//	defer m.Close()
//
// # In a jsonrpc2 server
//
// An agent asks for terminals over JSON-RPC. Give your connection ACP's framing, [NewStream], and a [Handler];
// what is not terminal/* goes on to the handler that you have already.
//
//	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{Next: next})
//	conn := jsonrpc2.NewConn(ctx, acpterm.NewStream(agentStdio), h)
//	conn.Call(ctx, "initialize", object{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}, &reply)
//
// When the connection ends, the handler releases what came through it. With another JSON-RPC library, call
// [Handler.Dispatch] yourself.
//
// # From Go
//
// The same commands without an agent. The context bounds the call, never the command.
//
//	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}})
//	status, err := t.Wait(ctx)
//	fmt.Println(status, t.Output().Output)
//
// A command without arguments that is no program's name and looks like a shell line is run by the shell, since
// agents send such lines; [ShellMode] says when.
//
// # Output
//
// Standard output and standard error share one pipe, so their order is the one in which they were written.
// [Terminal.Output] is the longest end of it that the terminal's limit, in bytes, lets be in whole characters:
// valid UTF-8 always, an invalid byte being U+FFFD. A character that is only half there yet is not shown until it
// is whole. [Terminal.Follow] gives it live, from any offset on, for as long as there can be more.
//
//	for chunk := range t.Follow(ctx, 0) {
//		show(chunk.Text)
//	}
//
// # Ends
//
// [Terminal.Wait] returns when the command has ended, not when the last process that holds its pipe has, and by
// then all that the command itself wrote can be read.
//
// [Terminal.Kill] ends the command and what it started: SIGTERM, five seconds, SIGKILL; a second Kill forces at
// once. [Options] and [WithEscalation] change that, and [WithTimeout] ends a command that takes too long.
//
// [Manager.Release] does the same and forgets the terminal's id. Whoever holds the [Terminal] can still read its
// output and status. [Manager.Close] releases all, and when it returns nothing of the manager's is left.
//
//	err = t.Kill(ctx)
//	err = m.Release(ctx, "s1", t.ID())
//	out := t.Output() // still there
//
// # Errors
//
// Every error is an [*Error]: its [Kind] says what is wrong, its fields what it concerns, and errors.Is and
// errors.As find both. [ResponseError] is the same for the wire.
//
//	if errors.Is(err, acpterm.ErrCommandNotFound) {
//
// # Systems
//
// On Linux a whole process group is ended, leader or no leader, and waits for exits cost no threads. On macOS and
// the BSDs the group is signalled, and what is left of it is killed when its leader exits. On Windows the command
// alone is ended. On other systems the package does not build.
package acpterm
