// Package mcpserver serves the terminals of an acpterm.Manager as tools to agents that speak the Model Context Protocol
// (MCP, https://modelcontextprotocol.io):
//
//	m, err := acpterm.NewManager(&acpterm.Options{Policy: rules, Approve: mcpserver.AskClient})
//	s := mcpserver.New(m, &mcpserver.Options{
//		Session: &acpterm.SessionOptions{Roots: []string{project}},
//	})
//	err = s.Run(ctx, &mcp.StdioTransport{}) // until the agent ends the session
//	s.Close()
//	m.Close()
//
// Each MCP session is a session of the Manager, so policies, approvals, limits, sandboxes, records, events and quotas
// apply as they do to terminal/* requests, and the commands appear in the same live view. The end of an MCP session
// releases its terminals. Sessions do not see each other's commands. The program
// github.com/acpterm/acpterm/cmd/acpterm-mcp is such a server with rules on its command line. In the repository, see
// docs/mcp.md for its configuration, and docs/mcpserver.md for hosts.
//
// # Tools
//
// docs/mcp.md lists them. Run starts a shell line, or a program with arguments. It returns when the command ends, or
// after a wait chosen by the agent, with an id for the others: write, wait, output, kill, release and list. Write types
// into commands on a PTY.
//
// All of them return structured results and text for the model. While a call waits, progress notifications carry the
// latest lines, if the client asks for them. A client that cancels a call ends the call, but its command only if
// kill_on_cancel was set. Errors that a model can correct are results, which tell the next step.
//
// # Output
//
// Models read plain text, as display.Text describes it: escape sequences, control characters and overwritten text are
// left out, and output longer than Options.MaxText is cut in the middle. There, the result of a failed command shows the
// first errors, which are found as output arrives; for that, the server follows the output of each command that it
// starts. Repetitions of a line are counted. Each cut is marked, with the offset to read on from. Offsets count the bytes that the command wrote. Nothing is left out of Terminal.Output, Terminal.Follow and
// package view. The marks are text like the output, which could contain the same words; the fields of the structured
// result are not.
//
// # ACP clients
//
// An ACP client offers a Server to its agent in session/new, session/load and session/resume. Server.Entry returns an
// element of mcpServers. It is for HTTP on this machine or, if the agent does not support that, for a relay program
// that the agent starts:
//
//	l, err := mcpserver.Listen(nil) // one for the whole program
//	entry, err := s.Entry(l, "", initializeResult)
//	conn.Call(ctx, "session/new", object{"cwd": project, "mcpServers": []any{entry}}, &session)
//	entry.Close() // when the agent's session is closed: ends its MCP sessions
//	l.Close()
//
// Each entry has a token, without which nothing can connect. Other users of this machine cannot read the token, nor can
// web pages. Programs of the same user can, as they can do anything else that this user may do.
//
// # Approval
//
// If a policy asks about a command, Options.Approve of the Manager answers. AskClient is such a function for programs
// without a user interface. It tells the client to ask its user.
package mcpserver
