package bubblewrap_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
)

// A command in the sandbox writes to the session's root, and to nothing else. The example has no Output comment,
// because go test would run it where bwrap is not installed; TestExample runs it.
func ExampleNew() {
	project, err := os.MkdirTemp("", "project")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)

	sandbox, err := bubblewrap.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	m, err := acpterm.NewManager(&acpterm.Options{
		Commands:        acpterm.CommandOptions{Sandbox: sandbox},
		RequireSessions: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if err := m.OpenSession("s1", &acpterm.SessionOptions{Roots: []string{project}}); err != nil {
		log.Fatal(err)
	}

	request := acpterm.CreateTerminalRequest{SessionID: "s1", Command: "sh", Args: []string{
		"-c", "touch inside && echo wrote to the project; touch /var/outside 2>/dev/null || echo and to nothing else"}}
	t, err := m.Create(context.Background(), request, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := t.Wait(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Print(t.Output().Output)
	// It prints:
	// wrote to the project
	// and to nothing else
}

func TestExample(t *testing.T) {
	needsBubblewrap(t)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	ExampleNew()
	os.Stdout = stdout
	require.NoError(t, w.Close())
	printed, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "wrote to the project\nand to nothing else\n", string(printed))
}
