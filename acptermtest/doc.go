// Package acptermtest provides utilities for testing programs that embed acpterm.
//
// [Commands] runs functions instead of processes. A test can specify what each function prints, how long it sleeps, and
// how it exits. In a testing/synctest bubble, the timing is exact, and an hour passes in an instant.
//
//	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{
//		"go test ./...": acptermtest.Print("ok\n", 0),
//		"sleep 3600":    acptermtest.Block,
//	}})
//
// [NewManager] creates a manager for use with these functions or with real commands. The manager is closed
// automatically when the test ends, and the test fails if any goroutine, process or file is left behind. [AllReleased]
// checks that the program has released its terminals. A [Machine] adds a directory, an environment, limits and commands
// that fail to start.
//
// [NewAgent] simulates an agent that the program can connect to. The simulated agent calls a function for each prompt:
//
//	stdio := acptermtest.NewAgent(t, func(turn *acptermtest.Turn) error {
//		result, err := turn.Terminals.Run(turn.Context(), turn.Command("go", "test", "./..."), agent.RunOptions{})
//		turn.Say(result.Output)
//		return err
//	})
//	editor.Connect(stdio) // your program, in place of the agent's standard input and output
//
// [Connect] connects an [agent.Client] directly to a handler. [Record] records the messages sent over a connection so
// that they can be compared with a file.
//
// [TestRunner] tests a Runner of your own: each promise of acpterm.Runner and acpterm.Process, with lines of sh that
// run wherever the Runner's commands do.
//
//	func TestMyRunner(t *testing.T) {
//		newRunner := func(t testing.TB) acpterm.Runner { return connect(t) }
//		acptermtest.TestRunner(t, newRunner, &acptermtest.RunnerGaps{Limits: []string{"Memory"}})
//	}
//
// No state is shared between tests, so they can run in parallel unless they start real processes (see [NewManager]).
package acptermtest
