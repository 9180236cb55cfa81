//go:build unix

package main

// How the commands of tools end with the client, and what the live page calls them.

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The command and the agent ignore every request to end.
func TestSecondInterruptLeavesTheCommandsOfTools(t *testing.T) {
	t.Parallel()
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			c := startClient(t, usingTools(transport, runPart(t, map[string]any{"wait_ms": 0}, "endure"), "ignore-cancel"), "-mcp", "-prompt", "x")
			command := c.stdout.await(t, `\| command (\d+)\n`)
			c.signal(os.Interrupt)
			c.stdout.await(t, "so what\n")
			c.signal(os.Interrupt)
			c.exit(exitInterrupted)
			requireGone(t, command)
			require.Contains(t, c.stderr.String(), "left: interrupt")
		})
	}
}

// awaitEvent reads the events of a page until one contains all texts.
func awaitEvent(t *testing.T, url string, texts ...string) {
	t.Helper()
	response, err := http.Get(url + "events")
	require.NoError(t, err)
	defer response.Body.Close()
	events := bufio.NewScanner(response.Body)
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		found := 0
		for _, text := range texts {
			if strings.Contains(events.Text(), text) {
				found++
			}
		}
		if found == len(texts) {
			return
		}
	}
	require.Fail(t, "no such event", "%q", texts)
}

// Commands of both doors have the name of the conversation, which the agent may change.
func TestSessionsHaveNamesOnThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project, goOn, more, done := filepath.Join(dir, "my-project"), filepath.Join(dir, "go-on"), filepath.Join(dir, "more"), filepath.Join(dir, "done")
	require.NoError(t, os.Mkdir(project, 0o700))
	c := startClient(t, usingTools("http",
		runPart(t, nil, "print", "one"), "terminal print", `run {"command":"acpterm-no-such-program","args":[]}`, "await "+goOn,
		`title " Fix \u202ethe tests"`, "await "+more, "title null", "await "+done),
		"-mcp", "-view", "127.0.0.1:0", "-cwd", project, "-prompt", "x")
	url := c.stderr.await(t, `client: watch at (http://127\.0\.0\.1:\d+/\S+/)\n`)
	c.stdout.await(t, `error true`)
	awaitEvent(t, url, `"my-project (`, "by terminal/create")
	awaitEvent(t, url, `"my-project (`, "print one")
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	title := `"Fix \\u202ethe tests"`
	awaitEvent(t, url, title, "by terminal/create")
	awaitEvent(t, url, title, "print one")
	require.NoError(t, os.WriteFile(more, nil, 0o600))
	awaitEvent(t, url, `"my-project (`)
	require.NoError(t, os.WriteFile(done, nil, 0o600))
	c.stderr.await(t, `client: the page stays; interrupt to end it\n`)
	c.signal(os.Interrupt)
	c.exit(0)
}
