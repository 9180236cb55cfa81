// Package acptermtest provides utilities for testing programs that embed acpterm.
//
// [Commands] runs functions instead of processes. They print, sleep and exit as the test specifies, and in a
// testing/synctest bubble, their timing is exact and an hour passes in an instant.
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//		"sleep 3600":    acptermtest.Block,
//	}})
//
// [NewManager] creates a manager for such commands, or for real ones, and closes it when the test ends. The test fails
// if a goroutine, process or file is left behind. m.Terminals() lists the terminals not released by the program.
//
// [NewAgent] simulates an agent for the program to connect to. It calls a function for each prompt:
//
//	stdio := acptermtest.NewAgent(t, func(turn *acptermtest.Turn) error {
//		result, err := turn.Terminals.Run(turn.Context(), turn.Command("go", "test", "./..."), agent.RunOptions{})
//		turn.Say(result.Output)
//		return err
//	})
//	editor.Connect(stdio) // your program, in place of the agent's standard input and output
//
// [Connect] connects an [agent.Client] directly to a handler. [Record] records a connection's messages for comparison
// with a file.
//
// There is no shared state, so tests can run in parallel unless they start real processes (see [NewManager]).
package acptermtest
