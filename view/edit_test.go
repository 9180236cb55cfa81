package view_test

// Opening files in the user's editor.

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// asEdit adds the header of changes.
func asEdit(r *http.Request) { r.Header.Set("Acp-Terminal", "edit") }

func TestEdit(t *testing.T) {
	for _, bad := range []string{"code", "vscode://x"} {
		_, err := view.New(acptermtest.NewManager(t, nil), &view.Options{Editor: bad})
		require.ErrorContains(t, err, "Options.Editor")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "-a.go"), nil, 0o600))
	for editor, want := range map[string]map[string]int{
		"": {"file=-a.go&line=1&column=0": 403}, "vscode://file{file}": {"file=-a.go&line=1&column=0": 403},
		"no-such-editor {file}": {
			"file=-a.go&line=1&column=0": 500, "file=b.go&line=1&column=0": 404, "file=.&line=1&column=0": 404,
			"file=-a.go&line=x&column=0": 400, "file=-a.go&line=-1&column=0": 400, "line=1&column=0": 400,
		},
	} {
		m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Block}})
		v := newViewer(t, m, view.Options{Editor: editor})
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make", Cwd: dir}, nil)
		require.NoError(t, err)
		for query, status := range want {
			path := "terminals/" + keyOf(terminal) + "/edit?" + query
			require.Equal(t, status, v.request("POST", path, asEdit).StatusCode, "%s: %s", editor, query)
			require.Equal(t, http.StatusForbidden, v.request("POST", path, nil).StatusCode, "without the header")
		}
	}
}

// The command gets the file as it is, and the View does not wait for it.
func TestEditRuns(t *testing.T) {
	touch, err := exec.LookPath("touch")
	if err != nil {
		t.Skip("there is no touch in PATH")
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a b;c.go"), nil, 0o600))
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Block}})
	v := newViewer(t, m, view.Options{Editor: touch + " {file}.{line}.{column}"})
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make", Cwd: dir}, nil)
	require.NoError(t, err)
	path := "terminals/" + keyOf(terminal) + "/edit?file=./a%20b%3bc.go&line=3&column=0"
	require.Equal(t, http.StatusNoContent, v.request("POST", path, asEdit).StatusCode)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "a b;c.go.3.1"))
		return err == nil
	}, time.Minute, time.Millisecond)
}
