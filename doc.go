// Package acpterm runs commands for coding agents: it is the terminal/* part of a client of the Agent Client
// Protocol (ACP, https://agentclientprotocol.com/protocol/v1/terminals).
//
// A [Manager] makes terminals. A terminal is one command, from its start to its release, with its output.
//
//	m, err := acpterm.NewManager(nil)
//	defer m.Close()
//
// # In a jsonrpc2 server
//
// An agent asks for terminals over JSON-RPC. A [Handler] answers it: [Handler.Filter] serves terminal/* on the
// connection and returns the rest of the connection, for jsonrpc2 or any other JSON-RPC library. All other requests go
// to your own handler.
//
//	agent, err := agentproc.Start(ctx, exec.Command("some-agent", "--acp"), nil)
//	defer agent.Close()
//	h := acpterm.NewHandler(m, nil)
//	rest := h.Filter(ctx, agent)
//	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(rest), yours)
//	conn.Call(ctx, "initialize", object{"protocolVersion": 1, "clientCapabilities": h.Capabilities()}, &reply)
//
// When the connection ends, the Handler releases its terminals. Package agentproc starts an agent, is the connection to
// it, and ends it with all that it started; its JoinStdio makes a connection of two pipes.
//
// If jsonrpc2 must see every message, for example for its hooks, use the Handler as the jsonrpc2.Handler of the whole
// connection and set [HandlerOptions].Next. For a library with its own framing, [Handler.Dispatch] answers one request.
//
// The agent is not trusted: no line of it ends the connection, and requests, terminals and the memory for output are
// bounded ([HandlerOptions], [Options]). Requests beyond a bound are refused with [ErrQuota].
//
// # From Go
//
// A program can run the same commands without an agent. The context bounds the call, never the command. A [Shell] runs
// a command without arguments if no program has its name and it looks like a shell line ([ShellMode]).
//
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	t, err := m.Create(ctx, request, nil)
//	status, err := t.Wait(ctx)
//	fmt.Println(status, t.Output().Output)
//
// # Output
//
// Standard output and standard error share one pipe, which keeps their order. [Terminal.Output] returns the longest end
// of the output, in whole characters, within the terminal's limit in bytes. It is always valid UTF-8; invalid bytes
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
// [Terminal.Kill] ends the process tree: SIGTERM, five seconds, SIGKILL. A second Kill sends SIGKILL at once. Kill
// returns when the whole tree is gone; if processes survive, it returns an [Error] of kind [ErrSurvivors] with their
// PIDs. [CommandOptions] change the steps, and set a timeout. [Manager.Release] also ends the tree, and forgets the id
// of the terminal; the [Terminal] can still be read. [Manager.Shutdown] releases all terminals, and [Manager.Close]
// kills them at once. Then no process, goroutine or file of the Manager remains. [Options].KeepDetached leaves
// deliberately detached processes running.
//
//	err = t.Kill(ctx)
//	err = m.Release(ctx, "s1", t.ID())
//	out := t.Output() // still there
//
// # Contexts
//
// A context bounds the call that gets it, never a command or an agent. If the context ends first, the call fails with
// [ErrCancelled]. A Kill, release or Shutdown then goes on in the background, and a Create leaves nothing running. The
// context of [Handler.Filter] is the connection's: when it ends, the connection is closed.
//
// # Policies
//
// [Options].Policy sees each command as it will run, and allows, denies or changes it, or asks the user
// ([Options].Approve). Package policy has rules as data, and ready-made policies; [Policies] joins several, and the
// strictest decision counts. [Manager.OpenSession] gives a session its own policy, and roots that confine its
// commands. [Limits] bound the resources of a command, a [Sandbox] confines it (package bubblewrap), and
// [Options].Record puts every decision on record before its command runs (package audit).
//
//	settable := policy.AllowVariables(policy.SafeVariables()...)
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: settable, Approve: ask, Record: decisions.Record})
//
// # Tests and other machines
//
// [Options].Runner runs commands elsewhere: scripts without processes in a test (package acptermtest), or real commands
// in a container or on another machine (module remote, docs/remote.md).
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
// # Reaping
//
// The Manager reaps the processes that it has started. A host that reaps all children by wait4(-1), or that ignores
// SIGCHLD, takes away exit statuses and the protection of process numbers. The Manager logs that once; before Linux
// 6.15 a wait then fails with [ErrExitLost]. Fewer processes of a tree are found, and before Linux 6.9 a foreign
// process can get a signal if the host reaps right before it. A host that must reap every child, such as process 1 of a
// container, sets [Options].HostReaps and calls [Manager.Reaped]. Handling SIGCHLD and using os/exec do no harm.
//
// On Linux a Manager has one thread, and each terminal two descriptors until its release; slow starts, cgroups and PTYs
// need more. Elsewhere each running command has a thread. Without descriptors, creates fail with [ErrInternal].
//
// # Systems
//
// On Linux a process tree is the command's session, processes outside the session that carry the terminal's mark in
// their environment or hold its output, and the children of all these. With a cgroup ([Options].Cgroup) it is every
// process that was started in it. The command's own process dies with the host; [Options].Journal (package journal)
// ends the rest of the tree at the host's next start.
//
// On Windows a process tree is a job object, which ends with the host. SIGKILL ends the job; SIGTERM is CTRL_BREAK, if
// the host has a console to send it through. This has run under Wine, without CTRL_BREAK, and never on real Windows.
//
// On macOS and FreeBSD it is the process group, the session and their children, and no [Limits] can be enforced. This
// code has been compiled, and never run. On other systems only a [Runner] runs commands.
package acpterm
