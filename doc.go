// Package acpterm runs terminal commands for coding agents. It implements the client side of the terminal methods in
// the Agent Client Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals).
//
// A [Manager] creates terminals. A [Terminal] represents a command and its output, until it is released.
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
// An agent requests terminals over JSON-RPC, and a [Handler] answers these requests. [Handler.Filter] wraps the
// connection to the agent. It serves terminal/* itself and leaves the rest to jsonrpc2 or any other JSON-RPC library,
// so your own handler receives all other requests. Created is called for each terminal.
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
// If jsonrpc2 should see every message, for example to use its hooks, pass it the Handler and set
// [HandlerOptions].Next. For libraries that do their own framing, use [Handler.Dispatch] to serve single requests.
//
// The agent is not trusted. No line it sends can break the connection, and requests, terminals and the memory used for
// output are limited (see [HandlerOptions] and [Options]). Requests beyond a limit fail with [ErrQuota].
//
// # Output
//
// Standard output and standard error share a pipe, so their order is preserved. [Terminal.Output] returns the most
// recent output, up to the terminal's limit in bytes. It is always valid UTF-8 in whole characters, with invalid bytes
// replaced by U+FFFD. [Terminal.Follow] streams the output from any offset, and [Terminal.Info] returns the state.
//
//	for chunk := range t.Follow(ctx, 0) {
//		show(chunk.Text)
//	}
//
// If [CommandOptions].PTY is set, the command runs on a PTY. Output is still plain text, [Terminal.Write] sends
// keyboard input, and [Terminal.Resize] changes the size. Package signin lets users sign in to an agent.
//
// # Termination
//
// [Terminal.Wait] returns once the command has exited, even if other processes hold its pipe open. All of the command's
// own output can be read by then.
//
// [Terminal.Kill] terminates the whole process tree. It sends SIGTERM by default, and then SIGKILL after five seconds
// (see [CommandOptions] for PTYs and Windows). Calling Kill again sends SIGKILL immediately. Kill returns when the tree
// is gone; if processes survive, it returns an [Error] of kind [ErrSurvivors] with their PIDs. [Manager.Release] does
// the same and forgets the terminal's id, although the Terminal can still be read. [Manager.Shutdown] releases all
// terminals, whereas [Manager.Close] kills them immediately. After Close, the Manager has no goroutines or files left,
// and no processes except survivors. Set [Options].KeepDetached to leave deliberately detached processes running.
//
//	err = t.Kill(ctx)
//	err = m.Release(ctx, "s1", t.ID())
//	out := t.Output() // still there
//
// A context applies to the call it is passed to, but never to the command. If it is done first, the call fails with
// [ErrCancelled]. Kill, Release and Shutdown then continue in the background, whereas Create leaves nothing running.
// The context passed to [Handler.Filter] is that of the connection. When it is done, the agent is terminated.
//
// # Policies
//
// [Options].Policy sees a command exactly as it will run, and can allow, deny or change it, or ask the user by means of
// [Options].Approve. Package policy provides ready-made policies, including rules as data. [Policies] combines
// policies, and the strictest decision wins. [Manager.OpenSession] gives a session its own policy, and can confine its
// commands to directories. [Limits] restricts a command's resources, a [Sandbox] confines it (see package bubblewrap),
// and [Options].Record records every decision before its command runs.
//
//	decisions, err := audit.Open("audit.json")
//	settable := policy.AllowVariables(policy.SafeVariables()...)
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: settable, Approve: askTheUser, Record: decisions.Record})
//
// # Other packages
//
// For clients, there are packages agentproc (running an agent), acpsdk (for use with coder/acp-go-sdk), permission (the
// agent's own questions), display (text for users), view (a live web page), usershell (login environments), agentterm
// (commands run by the agent itself), and otel (telemetry). Agents use package agent. Package acptermtest lets tests
// run scripts without processes, and module remote runs commands in a container or on another machine. Both provide a
// [Runner].
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//	}})
//
// # Errors
//
// The methods of [Manager], [Terminal] and [Handler] return errors of type [*Error], or several of them joined when
// releasing several terminals. Use errors.Is to test for a [Kind]. The other fields hold the details.
// [Handler.Dispatch] and [ClientCapabilities].Require return a [*CapabilityError] if terminals were not advertised. The
// connection returned by [Handler.Filter] returns the underlying connection's errors. [ResponseError] converts errors
// to JSON-RPC.
//
//	if errors.Is(err, acpterm.ErrCommandNotFound) {
//
// # Platforms
//
// On Linux, a process tree consists of the command's session, any processes outside it with the terminal's mark in
// their environment or its output open, and the children of all these. If [Options].Cgroup is set, it consists of every
// process started in the command's cgroup. The command's own process dies with the host, and with [Options].Journal,
// the rest of the tree can be killed when the host next starts (see package journal). A Manager uses one thread, and
// each terminal two file descriptors.
//
// On Windows, a process tree is a job object, which is terminated when the host exits. This has been run under Wine,
// where CTRL_BREAK does not work, but never on real Windows. On macOS and FreeBSD, a process tree is the process group,
// the session and their children, and [Limits] cannot be enforced. The code for these two systems compiles, but has
// never been run. On all other systems, running commands requires a [Runner].
//
// The Manager reaps the processes it starts. The host may use os/exec and handle SIGCHLD, but must not ignore that
// signal. If it reaps all of its children with wait4(-1), it must set [Options].HostReaps.
package acpterm
