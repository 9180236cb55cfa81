// Package signin lets a user sign in to an agent in a terminal (terminal authentication of ACP v1 and v2). The client
// advertises it with acpterm.HandlerOptions.TerminalAuth, or with a CapabilityV2 on v2. If the agent then answers a
// request with an error and IsRequired returns true for it:
//
//	methods, err := signin.ReadMethods(initializeResult) // the user chooses one
//	err = signin.Run(ctx, exec.Command("agent", "--acp"), method, terminal, nil)
//	// nil: end the agent, start it again, initialize, and repeat the request
//
// Run starts another instance of the agent's program on a PTY, with the chosen method's arguments and variables.
package signin
