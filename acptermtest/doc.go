// Package acptermtest is for the unit tests of programs that embed acpterm.
//
// [Commands] are commands that a test makes up: what they print, how long they take, how they end. No process is
// started, so a test is quick, and in a bubble of testing/synctest it is exact: an hour passes at once.
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//		"sleep 3600":    acptermtest.Block,
//	}})
//
// [NewManager] makes a manager, of such commands or of real ones, that is closed when the test ends; the test fails if
// something is left then. Whether your program released its terminals, len(m.Terminals()) tells.
//
// [NewAgent] is an agent for the program to talk to, with a turn for each prompt that you write in a few lines:
//
//	stdio := acptermtest.NewAgent(t, func(turn *acptermtest.Turn) error {
//		result, err := turn.Terminals.Run(turn.Context(), turn.Command("go", "test", "./..."), agent.RunOptions{})
//		turn.Say(result.Output)
//		return err
//	})
//	editor.Connect(stdio) // your program, with what would be the agent's standard input and output
//
// [Connect] is for less: an agent's end of a connection to a handler. [Record] writes down what goes over a connection,
// and compares it with a file.
//
// All of it is one test's own: nothing is shared, so tests may run in parallel, but for those with real processes (see
// NewManager).
package acptermtest
