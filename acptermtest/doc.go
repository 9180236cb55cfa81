// Package acptermtest is for the unit tests of programs that embed acpterm. Only tests import it.
//
// [Commands] are functions that run in place of processes: they print, sleep and end as the test says. In a bubble of
// testing/synctest their time is exact, and an hour passes at once.
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//		"sleep 3600":    acptermtest.Block,
//	}})
//
// [NewManager] makes a manager, of such commands or of real ones, and closes it when the test ends; the test fails if a
// goroutine, process or file is left. Terminals that the program did not release are in m.Terminals().
//
// [NewAgent] is an agent for the program to connect to, with a function that plays the turn for each prompt:
//
//	stdio := acptermtest.NewAgent(t, func(turn *acptermtest.Turn) error {
//		result, err := turn.Terminals.Run(turn.Context(), turn.Command("go", "test", "./..."), agent.RunOptions{})
//		turn.Say(result.Output)
//		return err
//	})
//	editor.Connect(stdio) // your program, in place of the agent's standard input and output
//
// [Connect] connects an [agent.Client] to a handler alone. [Record] records the messages of a connection, and compares
// them with a file.
//
// The package has no shared state, so tests may run in parallel, except those with real processes (see NewManager).
package acptermtest
