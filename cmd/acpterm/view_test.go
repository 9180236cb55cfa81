//go:build unix

package main

// The live page: there while the client runs, for who has its address.

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
	file := filepath.Join(t.TempDir(), "go-on")
	c := startClient(t, exampleAgent(), "-view", "127.0.0.1:0", "-prompt", line("steps", file))
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

	events := bufio.NewScanner(get(url + "events").Body)
	for events.Scan() && !strings.Contains(events.Text(), "running") {
	}
	require.Contains(t, events.Text(), "steps", "the command that runs")

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	c.stderr.await(t, `acpterm: the page stays at http://.*\nacpterm: interrupt to end it\n`)
	require.Equal(t, http.StatusOK, get(url).StatusCode)
	require.Contains(t, c.stdout.String(), "\n> exit code 0\n")
	c.signal(os.Interrupt)
	c.exit(0)
	_, err = http.Get(url)
	require.Error(t, err, "the page ends with the client")
}
