// Package acpterm runs commands for coding agents: it is the terminal/* part of a client of the Agent Client
// Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals).
//
// A [Manager] makes terminals. A terminal is one command, from its start to its release, with its output.
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
// An agent asks for terminals over JSON-RPC, and a [Handler] answers it: [Handler.Filter] serves terminal/* on the
// connection and returns the rest of the connection, for jsonrpc2 or any other JSON-RPC library. All other requests,
// such as session/request_permission, go to your own handler. Created is called with each terminal.
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
// If jsonrpc2 must see every message, for example for its hooks, use the Handler as the jsonrpc2.Handler of the whole
// connection and set [HandlerOptions].Next. For a library with its own framing, [Handler.Dispatch] answers one request.
//
// The agent is not trusted: no line of it ends the connection, and requests, terminals and the memory for output are
// bounded ([HandlerOptions], [Options]). Requests beyond a bound are refused with [ErrQuota].
//
// # Output
//
// Standard output and standard error share one pipe, which keeps their order. [Terminal.Output] returns as much of the
// end of the output as fits in the terminal's limit in bytes. It is whole characters of valid UTF-8; invalid bytes
// become U+FFFD. [Terminal.Follow] returns the output live, from any offset. [Terminal.Info] returns the state of a
// terminal.
//
//	for chunk := range t.Follow(ctx, 0) {
//		show(chunk.Text)
//	}
//
// By default, a command has no PTY; [CommandOptions].PTY gives it one. Then Output is plain text, [Terminal.Write]
// sends keyboard input, and [Terminal.Resize] changes the size. Package signin lets a user sign in to an agent.
//
// # Ends
//
// [Terminal.Wait] returns when the command has exited, even if other processes still hold its pipe. By then all output
// of the command itself can be read.
//
// [Terminal.Kill] ends the process tree: by default SIGTERM, and SIGKILL after five seconds ([CommandOptions] describe
// PTYs and Windows). A second Kill sends SIGKILL immediately. Kill returns when the whole tree is gone; if processes
// survive, it returns an [Error] of kind [ErrSurvivors] with their PIDs. [Manager.Release] also ends the tree, and
// forgets the id of the terminal; the Terminal can still be read. [Manager.Shutdown] releases all terminals, and
// [Manager.Close] kills them immediately. After Close no goroutine or file of the Manager remains, and no process
// except survivors. [Options].KeepDetached leaves deliberately detached processes running.
//
//	err = t.Kill(ctx)
//	err = m.Release(ctx, "s1", t.ID())
//	out := t.Output() // still there
//
// A context bounds the call that gets it, never a command. If the context ends first, the call fails with
// [ErrCancelled]. A Kill, release or Shutdown then goes on in the background, and a Create leaves nothing running. The
// context of [Handler.Filter] is the connection's: its end closes the connection, and so ends the agent.
//
// # Policies
//
// [Options].Policy sees each command as it will run, and allows, denies or changes it, or asks the user
// ([Options].Approve). Package policy has rules as data, and ready-made policies; [Policies] joins several, and the
// strictest decision counts. [Manager.OpenSession] gives a session its own policy, and roots that confine its commands.
// [Limits] bound the resources of a command, a [Sandbox] confines it (package bubblewrap), and [Options].Record puts
// every decision on record before its command runs.
//
//	decisions, err := audit.Open("audit.json")
//	settable := policy.AllowVariables(policy.SafeVariables()...)
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: settable, Approve: askTheUser, Record: decisions.Record})
//
// # Other packages
//
// Clients use agentproc (an agent's process), acpsdk (clients on coder/acp-go-sdk), permission (the agent's own
// questions), display (text for users), view (a live web page), usershell (login environments), agentterm (commands
// that the agent runs itself), and otel (telemetry). Package agent is for agents. Package acptermtest runs scripts
// without processes in tests, and module remote runs commands in a container or on another machine, each as
// [Options].Runner.
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//	}})
//
// # Errors
//
// The methods of a [Manager], a [Terminal] and a [Handler] return an [*Error], or several joined errors if they end
// several terminals. [Kind] classifies the error and works with errors.Is; the fields name the subject.
// [Handler.Dispatch] and [ClientCapabilities].Require return a [*CapabilityError] if terminals were not advertised. The
// connection of [Handler.Filter] returns the errors of the underlying connection. [ResponseError] converts any error
// for the wire.
//
//	if errors.Is(err, acpterm.ErrCommandNotFound) {
//
// # Systems
//
// On Linux a process tree is the command's session, processes outside the session that carry the terminal's mark in
// their environment or hold its output, and the children of all these. With a cgroup ([Options].Cgroup) it is every
// process that was started in it. The command's own process dies with the host; [Options].Journal (package journal)
// ends the rest of the tree at the host's next start. A Manager has one thread, and each terminal two descriptors.
//
// On Windows a process tree is a job object, which ends with the host. The code has run under Wine, without CTRL_BREAK,
// and never on real Windows. On macOS and FreeBSD it is the process group, the session and their children, and no
// [Limits] can be enforced. The code for these systems has been compiled, and never run. On other systems only a
// [Runner] runs commands.
//
// The Manager reaps the processes that it has started. A host must not ignore SIGCHLD, and one that reaps all children
// by wait4(-1) must set [Options].HostReaps. Handling SIGCHLD and using os/exec do no harm.
package acpterm
