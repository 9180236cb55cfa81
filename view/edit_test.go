package view_test

// Opening files in the user's editor.

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// The command gets the file as one argument, whatever its name is, and the View does not wait for it.
func TestEditRuns(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no sh in PATH, or no such names of files")
	}
	dir := t.TempDir()
	script, wrote := filepath.Join(dir, "editor"), filepath.Join(dir, "wrote")
	require.NoError(t, os.WriteFile(script, []byte(`printf '%s\0' "$@" >`+wrote+`.new; mv `+wrote+`.new `+wrote), 0o600))
	project := filepath.Join(dir, "project")
	require.NoError(t, os.Mkdir(project, 0o700))
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Block}})
	v := newViewer(t, m, view.Options{Editor: sh + " " + script + " -g {file}:{line}"})
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make", Cwd: project}, nil)
	require.NoError(t, err)
	open := func(name string) int {
		query := url.Values{"file": {name}, "line": {"3"}, "column": {"0"}}
		return v.request("POST", "terminals/"+keyOf(terminal)+"/edit?"+query.Encode(), asEdit).StatusCode
	}
	for _, name := range []string{"a.go", "a b;c.go", "-g", "--wait -n", "$(touch x) {line}.go", "a\n-n", "'\"`|&.go"} {
		require.NoError(t, os.WriteFile(filepath.Join(project, name), nil, 0o600))
		require.Equal(t, http.StatusNoContent, open("./"+name), name)
		require.Eventually(t, func() bool {
			args, _ := os.ReadFile(wrote)
			return string(args) == "-g\x00"+filepath.Join(project, name)+":3\x00"
		}, time.Minute, time.Millisecond, "%q", name)
	}
	require.NoError(t, os.Remove(wrote))
	for _, name := range []string{"..", "/", "a.go/../..", "../project", os.DevNull, "a.go\x00-n", "vscode://x/a.go", "none.go"} {
		require.Equal(t, http.StatusNotFound, open(name), "it is no file")
	}
	require.NoFileExists(t, wrote)
	require.NoFileExists(t, filepath.Join(project, "x"))
}
