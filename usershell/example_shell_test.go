//go:build unix

package usershell_test

import (
	"context"
	"fmt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/usershell"
)

// Shell lines run in the shell of the user's editor settings.
func ExampleKnownShell() {
	shell, err := usershell.KnownShell("sh") // or "bash-login", "zsh", "pwsh" ...
	if err != nil {
		fmt.Println(err) // an unknown name, or not available on this system
		return
	}
	m, err := acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Shell: &shell}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo one && echo two"}
	t, err := m.Create(context.Background(), request, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := t.Wait(context.Background())
	fmt.Println(t.Command().Args, status, err)
	fmt.Print(t.Output().Output)
	// Output:
	// [sh -c echo one && echo two] exit code 0 <nil>
	// one
	// two
}
