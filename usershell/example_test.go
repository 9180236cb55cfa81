//go:build unix

package usershell_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/usershell"
)

// An editor started by a desktop reads the user's login shell when it starts, and opens sessions with that shell's
// environment.
func ExampleLoginEnvironment() {
	ctx := context.Background()
	home, err := os.MkdirTemp("", "home") // instead of the user's
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	os.WriteFile(filepath.Join(home, ".profile"), []byte("echo Welcome!\nexport GREETING=hello\n"), 0o600)
	options := &usershell.LoginOptions{Shell: "/bin/sh", Dir: home, Env: []string{"HOME=" + home}} // nil in an editor

	// When the editor starts:
	env := make(chan []string, 1)
	go func() {
		login, err := usershell.LoginEnvironment(ctx, options)
		if err != nil {
			fmt.Println(err) // to the person
			env <- nil       // which is the editor's own environment
			return
		}
		env <- login.Env()
	}()

	// Before it asks an agent for a session:
	m, err := acpterm.NewManager(&acpterm.Options{RequireSessions: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	commands := acpterm.CommandOptions{Dir: home, Env: <-env}
	if err := m.OpenSession("s1", &acpterm.SessionOptions{Commands: commands}); err != nil {
		fmt.Println(err)
		return
	}

	terminal, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo $GREETING"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	terminal.Wait(ctx)
	fmt.Print(terminal.Output().Output)
	// Output: hello
}

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
