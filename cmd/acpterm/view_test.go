//go:build unix

package main

// The live page: there while the client runs, for who has its address.

import (
	"io"
	"net/http"
	"os"
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
