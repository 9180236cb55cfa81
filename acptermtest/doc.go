// Package acptermtest provides utilities for testing programs that embed acpterm.
//
// [Commands] runs functions instead of processes, which print, sleep and exit as the test specifies. In a
// testing/synctest bubble, their timing is exact and an hour passes immediately.
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//		"sleep 3600":    acptermtest.Block,
//	}})
//
// [NewManager] creates a manager for such commands, or for real ones, and closes it when the test ends. The test fails
// if a goroutine, process or file is left behind. m.Terminals() lists the terminals that the program has not released.
//
// [NewAgent] creates an agent that the program can connect to. It calls a function for each prompt:
//
//	stdio := acptermtest.NewAgent(t, func(turn *acptermtest.Turn) error {
//		result, err := turn.Terminals.Run(turn.Context(), turn.Command("go", "test", "./..."), agent.RunOptions{})
//		turn.Say(result.Output)
//		return err
//	})
//	editor.Connect(stdio) // your program, in place of the agent's standard input and output
//
// [Connect] connects an [agent.Client] directly to a handler. [Record] records a connection's messages and compares
// them with a file.
//
// The package has no shared state, so tests can run in parallel unless they start real processes (see NewManager).
package acptermtest
