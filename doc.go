// Package acpterm runs commands for coding agents. It implements the terminal/* part of a client of the Agent Client
// Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals).
//
// A [Manager] creates terminals. A [Terminal] is a command with its output, from its start until it is released.
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
// An agent requests terminals over JSON-RPC, and a [Handler] answers its requests. [Handler.Filter] serves terminal/*
// on the connection and returns the rest of the connection, for use with jsonrpc2 or any other JSON-RPC library. All
// other requests, such as session/request_permission, go to your own handler. Created is called with each new terminal.
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
// If jsonrpc2 should see every message, for example for its hooks, use the Handler as the connection's jsonrpc2.Handler
// and set [HandlerOptions].Next. For libraries with their own framing, [Handler.Dispatch] answers a single request.
//
// The agent is not trusted: no line it sends ends the connection, and requests, terminals and the memory used for
// output are limited (see [HandlerOptions] and [Options]). Requests beyond a limit fail with [ErrQuota].
//
// # Output
//
// Standard output and standard error share a pipe, so their order is preserved. [Terminal.Output] returns as much of
// the end of the output as fits in the terminal's limit in bytes, as whole characters of valid UTF-8. Invalid bytes are
// replaced with U+FFFD. [Terminal.Follow] returns the output live, starting at any offset, and [Terminal.Info] returns
// the state of a terminal.
//
//	for chunk := range t.Follow(ctx, 0) {
//		show(chunk.Text)
//	}
//
// By default, a command has no PTY. If [CommandOptions].PTY is set, Output is plain text, [Terminal.Write] sends
// keyboard input, and [Terminal.Resize] changes the size. Package signin lets a user sign in to an agent.
//
// # Ends
//
// [Terminal.Wait] returns once the command has exited, even if other processes still hold its pipe. By then, all of the
// command's own output can be read.
//
// [Terminal.Kill] ends the process tree, by default with SIGTERM, followed by SIGKILL after five seconds (see
// [CommandOptions] for PTYs and Windows). A second Kill sends SIGKILL immediately. Kill returns when the whole tree is
// gone. If processes survive, it returns an [Error] of kind [ErrSurvivors] with their PIDs. [Manager.Release] also ends
// the tree and forgets the terminal's id, but the Terminal can still be read. [Manager.Shutdown] releases all
// terminals, and [Manager.Close] kills them immediately. After Close, no goroutine or file of the Manager remains, and
// no process except survivors. [Options].KeepDetached leaves deliberately detached processes running.
//
//	err = t.Kill(ctx)
//	err = m.Release(ctx, "s1", t.ID())
//	out := t.Output() // still there
//
// A context bounds the call it is passed to, but never a command. If it is done first, the call fails with
// [ErrCancelled]. A Kill, release or Shutdown then continues in the background, whereas a Create leaves nothing
// running. The context of [Handler.Filter] is the connection's: when it is done, the connection is closed, which ends
// the agent.
//
// # Policies
//
// [Options].Policy sees each command as it will run, and allows, denies or changes it, or asks the user
// ([Options].Approve). Package policy has ready-made policies and rules as data. [Policies] combines several policies,
// and the strictest decision counts. [Manager.OpenSession] gives a session its own policy, and roots that confine its
// commands. [Limits] bound a command's resources, a [Sandbox] confines it (see package bubblewrap), and
// [Options].Record puts every decision on record before its command runs.
//
//	decisions, err := audit.Open("audit.json")
//	settable := policy.AllowVariables(policy.SafeVariables()...)
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: settable, Approve: askTheUser, Record: decisions.Record})
//
// # Other packages
//
// Clients use agentproc (an agent's process), acpsdk (clients based on coder/acp-go-sdk), permission (the agent's own
// questions), display (text for users), view (a live web page), usershell (login environments), agentterm (commands run
// by the agent itself), and otel (telemetry). Package agent is for agents. Package acptermtest runs scripts without
// processes in tests, and module remote runs commands in a container or on another machine. Both are used as
// [Options].Runner.
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//	}})
//
// # Errors
//
// The methods of a [Manager], [Terminal] and [Handler] return an [*Error], or several joined errors if they end several
// terminals. Its [Kind] works with errors.Is, and its fields identify the subject. [Handler.Dispatch] and
// [ClientCapabilities].Require return a [*CapabilityError] if terminals were not advertised. The connection returned by
// [Handler.Filter] returns the errors of the underlying connection. [ResponseError] converts any error for the wire.
//
//	if errors.Is(err, acpterm.ErrCommandNotFound) {
//
// # Systems
//
// On Linux, a process tree consists of the command's session, processes outside the session with the terminal's mark in
// their environment or holding its output, and the children of all these. With a cgroup ([Options].Cgroup), it consists
// of every process started in it. The command's own process dies with the host, and [Options].Journal (package journal)
// ends the rest of the tree when the host next starts. A Manager uses one thread, and each terminal two descriptors.
//
// On Windows, a process tree is a job object, which ends with the host. The code has run under Wine, without
// CTRL_BREAK, but never on real Windows. On macOS and FreeBSD, it is the process group, the session and their children,
// and [Limits] cannot be enforced. The code for these systems has been compiled, but never run. On other systems,
// commands can only be run by a [Runner].
//
// The Manager reaps the processes it has started. A host must not ignore SIGCHLD, and must set [Options].HostReaps if
// it reaps all children with wait4(-1). Handling SIGCHLD and using os/exec are harmless.
package acpterm
