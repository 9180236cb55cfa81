//go:build unix

package acpterm_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/acpterm/acpterm"
)

// Run a command on a PTY, and answer its question like a user.
func ExamplePTYOptions() {
	ctx := context.Background()
	m, err := acpterm.NewManager(&acpterm.Options{
		CommandsFor: func(_ acpterm.SessionID, c acpterm.Command) *acpterm.CommandOptions {
			if strings.HasPrefix(c.ShellLine, "read ") {
				return &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 100, Rows: 30, Attended: true}}
			}
			return nil // a pipe
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: `read name; echo "Hello, $name."`}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(t, "World") // what the person types
	if _, err := t.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Print(t.Output().Output) // plain text: the echo of the terminal, and the command's output
	// Output:
	// World
	// Hello, World.
}
