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

// Start an agent, talk to it, and end it with all processes that it started.
func ExampleStart() {
	ctx := context.Background()
	cmd := exec.Command("cat") // instead of an agent
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

	// A host passes the agent to Handler.Filter of acpterm. cat echoes its input.
	fmt.Fprintln(agent, "hello")
	if err := agent.Close(); err != nil { // ends its standard input, so that it exits
		fmt.Println(err)
	}
	said, _ := io.ReadAll(agent)
	status, _ := agent.Wait(ctx)
	fmt.Printf("%q, %v\n", said, status)
	// Output: "hello\n", exit code 0
}
