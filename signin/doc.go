// Package signin lets a person sign in to an agent in a terminal (terminal authentication of ACP v1 and v2). The client
// advertises it by acpterm.HandlerOptions.TerminalAuth, or on v2 by a CapabilityV2. When the agent then answers a
// request with an error that IsRequired knows:
//
//	methods, err := signin.ReadMethods(initializeResult) // a person chooses one
//	err = signin.Run(ctx, exec.Command("agent", "--acp"), method, terminal, nil)
//	// nil: end the agent, start it again, initialize, and repeat the request
//
// Run starts the agent's program once more, with the method's arguments and variables, on a PTY.
package signin
