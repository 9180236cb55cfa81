//go:build unix

package agentproc_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/acpterm/acpterm/agentproc"
)

// An agent is started, spoken to, and ended with all that it started.
func ExampleStart() {
	ctx := context.Background()
	cmd := exec.Command("cat") // in place of an agent
	cmd.Dir = os.TempDir()
	agent, err := agentproc.Start(ctx, cmd, &agentproc.Options{
		Grace:  2 * time.Second,
		Stderr: func(line string) { fmt.Printf("agent: %q\n", line) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()

	// A host gives it to Handler.Filter of acpterm; a cat says what it is told.
	fmt.Fprintln(agent, "hello")
	if err := agent.Close(); err != nil { // its standard input ends, at which it exits
		fmt.Println(err)
	}
	said, _ := io.ReadAll(agent)
	status, _ := agent.Wait(ctx)
	fmt.Printf("%q, %v\n", said, status)
	// Output: "hello\n", exit code 0
}
