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
// connection and set [HandlerOptions].Next. For a library that has its own framing, [Handler.Dispatch] answers one
// request.
//
// The agent is not trusted: no line ends the connection, and requests, terminals and the memory for output are bounded
// ([HandlerOptions], [Options]); beyond that they are refused with [ErrQuota].
//
// # From Go
//
// The same commands without an agent. The context bounds the call, never the command. A command without arguments that
// is no program's name and looks like a shell line ([ShellMode]) is run by a [Shell].
//
//	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "go", Args: []string{"test", "./..."}}
//	t, err := m.Create(ctx, request, nil)
//	status, err := t.Wait(ctx)
//	fmt.Println(status, t.Output().Output)
//
// # Output
//
// Standard output and standard error share one pipe, so their order is the one in which they were written.
// [Terminal.Output] is the longest end of it that the terminal's limit, in bytes, lets be in whole characters: valid
// UTF-8 always, an invalid byte being U+FFFD. [Terminal.Follow] gives it live, from any offset on. [Terminal.Info] is
// all else that a person is shown of a terminal, at one moment.
//
//	for chunk := range t.Follow(ctx, 0) {
//		show(chunk.Text)
//	}
//
// A command has no terminal, unless [CommandOptions].PTY gives it one. Then Output is plain text, and
// [Terminal.Write] and [Terminal.Resize] are for the person at it. The package signin has a person sign in to an agent.
//
// # Ends
//
// [Terminal.Wait] returns when the command has ended, not when the last process that holds its pipe has, and by
// then all that the command itself wrote can be read.
//
// [Terminal.Kill] ends the command and what it started: SIGTERM, five seconds, SIGKILL; a second Kill forces at once.
// It returns when the whole tree is gone, and an [Error] of kind [ErrSurvivors] names the processes that still run.
// [CommandOptions] change the steps, and end a command that takes too long.
// [Manager.Release] does the same and forgets the terminal's id; the [Terminal] can still be read.
// [Manager.Shutdown] releases all, and [Manager.Close] does so without grace; then nothing of the manager's is left.
// [Options].KeepDetached lets what a command detached on purpose outlive it.
//
//	err = t.Kill(ctx)
//	err = m.Release(ctx, "s1", t.ID())
//	out := t.Output() // still there
//
// # Contexts
//
// A context bounds the call that gets it, never a command or an agent. A call whose context ends first fails with
// [ErrCancelled]; what a Kill, a release or a Shutdown has begun goes on until it is complete, and a Create leaves
// nothing running. The context of [Handler.Filter] is the connection's, which closes when it ends.
//
// # What may run
//
// [Options].Policy sees each command as it will run and allows it, denies it, changes it or has a person asked
// ([Options].Approve). The package policy has rules written down as data and ready-made policies; [Policies] joins
// several, and the strictest wins. [Manager.OpenSession] gives a session a policy of its own, and directories that it
// may not leave. [Limits] bound what a command uses, [CommandOptions].Sandbox confines it (package bubblewrap), and
// [Options].Record puts every decision on record before its command runs (package audit).
//
//	settable := policy.AllowVariables(policy.SafeVariables()...)
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: settable, Approve: ask, Record: log.Record})
//
// # In tests, and elsewhere
//
// [Options].Runner runs commands in this system's place: made-up ones in a test, without processes (package
// acptermtest), or yours in a container or on another machine (module remote, docs/remote.md).
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//	}})
//
// # Errors
//
// A method of a [Manager], a [Terminal] or a [Handler] that fails returns an [*Error], or several, joined, where it
// ends several terminals. Its [Kind] says what is wrong, its fields what it concerns, and errors.Is and errors.As find
// both. [Handler.Dispatch] and [ClientCapabilities].Require return a [*CapabilityError] for terminals that were not
// advertised. The connection that [Handler.Filter] returns has the errors of the one that it was given. [ResponseError]
// makes any of them one for the wire.
//
//	if errors.Is(err, acpterm.ErrCommandNotFound) {
//
// # What a host must leave alone
//
// The manager reaps the processes that it has started. A host that reaps other children than its own, by wait4(-1), or
// that ignores SIGCHLD, takes away how commands ended and what their process numbers are protected by. It is logged
// once; before Linux 6.15 a wait then fails with [ErrExitLost]. No signal goes to a process that is not of the tree,
// but less of the tree is found. A host that has to reap every child, such as process 1 of a container, sets
// [Options].HostReaps and calls [Manager.Reaped]. Handling SIGCHLD and using os/exec do no harm.
//
// On Linux a manager has one thread, from its first command on, and each terminal two descriptors until its release;
// elsewhere each running command has a thread. When the host has no descriptor left, creates fail with [ErrInternal],
// and all else goes on.
//
// # Systems
//
// On Linux a tree is the command's session, what left it and carries the terminal's mark in its environment or holds
// its output, and the children of all those; with a cgroup ([Options].Cgroup) it is whatever was started, however it
// hides. A command's own process is killed when the host dies; the rest of its tree is ended at the next start from
// [Options].Journal (package journal).
//
// On Windows a tree is a job object, from the command's first instruction on, and it ends with the host.
//
// On macOS and FreeBSD it is the process group, the session and their children, and no [Limits] can be enforced. This
// has been compiled and not been run. On other systems nothing but a [Runner] runs commands.
package acpterm
