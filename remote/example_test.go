//go:build unix

package remote_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/remote"
)

// Run commands on the remote side of a command line.
func ExampleNewRunner() {
	ctx := context.Background()
	helpers, err := os.MkdirTemp("", "helpers-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(helpers)
	// A released program includes the helpers: building them needs the source and the go command.
	if err := remote.Build(ctx, "", helpers, runtime.GOOS, runtime.GOARCH); err != nil {
		log.Fatal(err)
	}
	runner, err := remote.NewRunner(remote.Options{
		Transport: remote.Command{Args: []string{"sh"}}, // or "ssh", "host"
		Helpers:   os.DirFS(helpers),                    // acpterm-remote-linux-amd64, and one for each other platform
		Dir:       helpers,                              // the default is in the user's cache directory
	})
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	m, err := acpterm.NewManager(&acpterm.Options{Runner: runner})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s1", Command: "echo from there; exit 3"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	status, err := t.Wait(ctx)
	fmt.Printf("%q %v %v\n", t.Output().Output, status, err)
	// Output: "from there\n" exit code 3 <nil>
}
