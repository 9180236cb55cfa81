// Package acpterm runs terminal commands for coding agents. It implements the client side of the terminal methods in
// the Agent Client Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals).
//
// A [Manager] creates terminals. A [Terminal] represents a command and its output until the terminal is released.
//
//	m, err := acpterm.NewManager(nil) // one for the whole program
//	defer m.Close()
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	t, err := m.Create(ctx, request, nil)
//	status, err := t.Wait(ctx)
//	fmt.Println(status, t.Output().Output)
//
// # In a client
//
// An agent requests terminals over JSON-RPC, and a [Handler] responds to these requests. [Handler.Filter] wraps the
// connection to the agent. It serves terminal/* itself and passes all other messages on to your own handler, which can
// use jsonrpc2 or any other JSON-RPC library. The Created function is called for each new terminal.
//
//	agent, err := agentproc.Start(ctx, exec.Command("some-agent", "--acp"), nil)
//	h := acpterm.NewHandler(m, &acpterm.HandlerOptions{
//		Created: func(t *acpterm.Terminal) { go display.Follow(ctx, os.Stdout, t) }, // live output
//	})
//	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(h.Filter(ctx, agent)), yourHandler)
//	conn.Call(ctx, "initialize", object{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}, &reply)
//	// session/new, session/prompt ...
//	conn.Close() // ends the agent, and releases its terminals
//	h.Close()    // waits until their commands have ended
//
// To let jsonrpc2 see every message, for example so that you can use its hooks, pass the Handler to jsonrpc2 and set
// [HandlerOptions].Next. If your library does its own framing, use [Handler.Dispatch] to serve individual requests.
//
// The agent is not trusted. Nothing it sends can break the connection, and requests, terminals and the memory used for
// output are all limited (see [HandlerOptions] and [Options]). A request that exceeds a limit fails with [ErrQuota].
//
// # Output
//
// Standard output and standard error share a pipe, so their order is preserved. [Terminal.Output] returns the most
// recent output as valid UTF-8, up to the terminal's limit in bytes. Characters are never split, and invalid bytes are
// replaced by U+FFFD. Use [Terminal.Follow] to stream the output from any offset, and [Terminal.Info] to get the state.
//
//	for chunk := range t.Follow(ctx, 0) {
//		show(chunk.Text)
//	}
//
// If [CommandOptions].PTY is set, the command runs on a PTY. In that case, Output still returns plain text. Use
// [Terminal.Write] to send keyboard input and [Terminal.Resize] to change the size.
//
// # Termination
//
// [Terminal.Wait] returns as soon as the command has exited, even if other processes still hold its pipe open. At that
// point, all of the command's own output is available.
//
// [Terminal.Kill] terminates the entire process tree. By default, it sends SIGTERM, followed by SIGKILL after five
// seconds (see [CommandOptions] for PTYs and Windows). Calling Kill again sends SIGKILL immediately. Kill returns once
// the tree has exited. If any processes survive, or may, it returns an [Error] of kind [ErrSurvivors] with PIDs.
// [Manager.Release] also terminates the tree and, in addition, invalidates the terminal's id, although the Terminal
// itself can still be read. [Manager.Shutdown] releases all terminals, whereas [Manager.Close] kills them immediately.
// After Close returns, the Manager has no remaining goroutines, files or processes, except for survivors. Set
// [Options].KeepDetached to leave deliberately detached processes running.
//
//	err = t.Kill(ctx)
//	err = m.Release(ctx, "s1", t.ID())
//	out := t.Output() // still there
//
// A context applies only to the call it is passed to, and never to the command. If the context is done before the call
// completes, the call fails with [ErrCancelled]. In that case, Kill, Release and Shutdown continue in the background,
// but Create leaves nothing running. If the context passed to [Handler.Filter] is done, the agent is terminated.
//
// # Policies
//
// [Options].Policy is called with each command exactly as it will run. It can allow, deny or change the command, or let
// [Options].Approve ask the user. Package policy provides ready-made policies, including rules written as data. If
// several policies are combined using [Policies], the strictest decision wins. Use [Manager.OpenSession] to give a
// session its own policy or confine its commands to directories. [Limits] restricts a command's resources, a [Sandbox]
// confines the command (see package bubblewrap), and [Options].Record records every decision before the command runs.
//
//	decisions, err := audit.Open("audit.json")
//	settable := policy.AllowVariables(policy.SafeVariables()...)
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: settable, Approve: askTheUser, Record: decisions.Record})
//
// # Other packages
//
// For clients, package agentproc runs an agent, signin lets users sign in to an agent, acpsdk is for use with
// coder/acp-go-sdk, permission handles the agent's own questions, display formats text for users, view serves a live
// web page, usershell provides login environments, agentterm shows the agent's own commands, and otel provides
// telemetry. Agents should use package agent. Package acptermtest lets tests run scripts without processes, and module
// remote runs commands in a container or on another machine. Both provide a [Runner].
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//	}})
//
// # Errors
//
// The methods of [Manager], [Terminal] and [Handler] return errors of type [*Error]. If several terminals are released,
// the error may instead join several of them. To test for a [Kind], use errors.Is. The other fields provide details.
// [ResponseError] converts errors to JSON-RPC.
//
//	if errors.Is(err, acpterm.ErrCommandNotFound) {
//
// # Platforms
//
// On Linux, a process tree consists of the command's session, any processes outside it that carry the terminal's mark
// in their environment or hold its output open, and the children of all these processes. If [Options].Cgroup is set,
// the tree consists of every process started in the command's cgroup instead. The command's own process is killed when
// the host exits. If [Options].Journal is set, the rest of the tree can be killed the next time the host starts (see
// package journal). A Manager uses one thread, and each process tree uses two file descriptors.
//
// On Windows, a process tree is a job object, which is terminated when the host exits. The Windows code has been tested
// under Wine, where CTRL_BREAK does not work, but never on real Windows. On macOS and FreeBSD, a process tree consists
// of the process group, the session and their children, and [Limits] cannot be enforced. The code for these two systems
// compiles but has never been run. On all other systems, a [Runner] is required to run commands.
//
// The Manager reaps all processes that it starts. The host may use os/exec and handle SIGCHLD, but it must not ignore
// SIGCHLD or reap children that it did not start, for example by calling wait4(-1).
package acpterm
