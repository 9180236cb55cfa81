// Package signin lets a user sign in to an agent in a terminal, using the terminal authentication of ACP v1 and v2. To
// advertise that it supports this method, a client sends acpterm.AuthCapabilities or, on v2, a CapabilityV2. If the
// agent then responds to a request with an error, and IsRequired returns true for this error:
//
//	methods, err := signin.ReadMethods(initializeResult) // the user chooses one
//	err = signin.Run(ctx, exec.Command("agent", "--acp"), method, terminal, nil)
//	// nil: end the agent, start it again, initialize, and repeat the request
//
// Run starts another instance of the agent's program on a PTY, using the arguments and variables of the chosen method.
package signin
