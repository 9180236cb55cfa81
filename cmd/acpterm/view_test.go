//go:build unix

package main

// The live page: there while the client runs, for who has its address. And the commands of tools, there and far away.

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestView(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	c := startClient(t, exampleAgent(), "-view", "127.0.0.1:0", "-prompt", line("steps", goOn))
	url := c.stderr.await(t, `acpterm: watch at (http://127\.0\.0\.1:\d+/\S+/)\n`)
	c.stdout.await(t, `\[1\] \| step 1\n`)

	get := func(url string) *http.Response {
		response, err := http.Get(url)
		require.NoError(t, err)
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	page := get(url)
	require.Equal(t, http.StatusOK, page.StatusCode)
	text, err := io.ReadAll(page.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "<title>Terminals</title>")
	require.Equal(t, http.StatusForbidden, get(url[:strings.LastIndex(url[:len(url)-1], "/")+1]).StatusCode, "without the token")

	awaitEvent(t, url, "running", "steps")
	create()
	c.stderr.await(t, `acpterm: the page stays at http://.*\nacpterm: interrupt to end it\n`)
	require.Equal(t, http.StatusOK, get(url).StatusCode)
	require.Contains(t, c.stdout.String(), "\n> exit code 0\n")
	c.signal(os.Interrupt)
	c.exit(0)
	_, err = http.Get(url)
	require.Error(t, err, "the page ends with the client")
}

// The page has the commands of earlier runs, whose output is in the archive.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir, project := filepath.Join(t.TempDir(), "archive"), t.TempDir()
	c := startClient(t, exampleAgent(), "-archive", dir, "-cwd", project, "-prompt", line("print", "the first run"))
	c.exit(0)
	c = startClient(t, exampleAgent(), "-archive", dir, "-cwd", project, "-view", "127.0.0.1:0", "-prompt", line("exit", "3"))
	url := c.stderr.await(t, `acpterm: watch at (http://127\.0\.0\.1:\d+/\S+/)\n`)
	awaitEvent(t, url, "the first run", `"earlier":true`)
	response, err := http.Get(url + "search?text=first+RUN")
	require.NoError(t, err)
	defer response.Body.Close()
	found, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(found), `"text":"the first run"`)
	c.stderr.await(t, `interrupt to end it\n`)
	c.signal(os.Interrupt)
	c.exit(0)

	c = startClient(t, exampleAgent(), "-archive", filepath.Join(project, "archive"), "-cwd", project, "-prompt", "x")
	c.exit(exitFailed)
	require.Contains(t, c.stderr.String(), "where commands may write")
}

// The commands of tools run where -runner leads, too, and relative directories are there.
func TestToolsWithRunner(t *testing.T) {
	t.Parallel()
	home := realDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(home, "src"), 0o700))
	c := startClient(t, usingTools("http", runPart(t, map[string]any{"cwd": "src"}, "where")),
		"-mcp", "-runner", farShell(home, binaries()), "-prompt", "x")
	c.exit(0)
	require.Contains(t, c.stdout.String(), "[1] | in "+home+"/src\n")
	require.Contains(t, c.stdout.String(), "> error false: ")
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
	require.Fail(t, "no such event", "%q, but %v", texts, events.Err())
}

// Commands of both doors have the same name.
func TestSessionsHaveNamesOnThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project, goOn := filepath.Join(dir, "my-project"), filepath.Join(dir, "go-on")
	require.NoError(t, os.Mkdir(project, 0o700))
	c := startClient(t, usingTools("http", runPart(t, nil, "print", "one"), "terminal print", "await "+goOn),
		"-mcp", "-view", "127.0.0.1:0", "-cwd", project, "-prompt", "x")
	url := c.stderr.await(t, `acpterm: watch at (http://127\.0\.0\.1:\d+/\S+/)\n`)
	awaitEvent(t, url, `"my-project (agent of tests)"`, "by terminal/create")
	awaitEvent(t, url, `"my-project (agent of tests)"`, "print one")
	require.NoError(t, os.WriteFile(goOn, nil, 0o600))
	c.stderr.await(t, `acpterm: the page stays.*`)
	c.signal(os.Interrupt)
	c.exit(0)
}
