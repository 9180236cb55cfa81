package programs

// A user and a dev server that an agent has started.

import (
	"net/http"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/archive"
)

// The user moves vite to the background, where it goes on, and stops it. The archive has its output afterwards.
func TestTheUserOfADevServer(t *testing.T) {
	m := newManager(t)
	dir := filepath.Join(t.TempDir(), "archive")
	kept, err := archive.Open(dir, nil)
	require.NoError(t, err)
	kept.Keep(m, "")
	model := connect(t, m)
	text := call(t, model, "run", map[string]any{"command": "npm run dev", "wait_ms": 600_000})
	link := regexp.MustCompile(`http://localhost:\d+`).FindString(text)
	require.NotEmpty(t, link, text)

	server := m.Terminals()[0]
	wait := map[string]any{"id": string(server.ID()), "until": "no such text", "wait_ms": 600_000}
	answer := make(chan string)
	go func() { answer <- call(t, model, "wait", wait) }()
	for waiting := true; waiting; {
		select {
		case text = <-answer:
			waiting = false
		default: // the call may not wait yet
			server.MoveToBackground()
			runtime.Gosched()
		}
	}
	require.Contains(t, text, "background")
	response, err := http.Get(link)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, acpterm.StateRunning, server.State())

	require.NoError(t, server.Stop(t.Context()))
	require.Contains(t, call(t, model, "wait", wait), "stopped by the user")
	require.NoError(t, m.Close())
	require.NoError(t, kept.Close())
	kept, err = archive.Open(dir, nil)
	require.NoError(t, err)
	defer kept.Close()
	require.Len(t, kept.Terminals(), 1)
	require.Equal(t, acpterm.EndedByUser, kept.Terminals()[0].Info().EndedBy)
	text, err = kept.Terminals()[0].Text()
	require.NoError(t, err)
	require.Contains(t, text, "VITE")
}
