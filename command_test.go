//go:build unix

package acpterm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/lookup"
)

// program puts an executable file into a directory.
func program(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
	return path
}

// The command is looked up with the PATH and the directory that it will run with, not with the host's.
func TestLookUp(t *testing.T) {
	dir := t.TempDir()
	inBin := program(t, dir+"/bin/tool")
	inLib := program(t, dir+"/lib/tool")
	here := program(t, dir+"/work/tool")
	require.NoError(t, os.WriteFile(dir+"/plain", nil, 0o600))
	work := dir + "/work"

	for _, look := range []struct{ command, path, want string }{
		{"tool", dir + "/bin:" + dir + "/lib", inBin},
		{"tool", dir + "/lib:" + dir + "/bin", inLib},
		{"tool", dir + "/missing:" + dir + "/plain:" + dir + "/bin", inBin}, // entries that are no directories
		{"tool", ".", here},         // relative to the command's directory
		{"tool", "../lib", inLib},   // likewise
		{"./tool", "", here},        // a path needs no PATH
		{"../bin/tool", "", inBin},  // relative to the command's directory
		{inLib, "", inLib},          // absolute
		{"tool", ":" + dir, here},   // an empty entry is the command's directory
		{"tool", "bin:lib:..", ""},  // nothing there
		{"tool", "", ""},            // no PATH at all: not the host's either
		{"other", dir + "/bin", ""}, // no such program
		{"./other", dir + "/bin", ""},
		{"sh", dir + "/bin", ""}, // the host has one
	} {
		o := Options{Env: []string{"PATH=/nonexistent"}, Shell: ShellNever}
		c, err := o.resolve(t.Context(), CreateTerminalRequest{SessionID: "s", Command: look.command, Cwd: work,
			Env: []EnvVariable{{Name: "PATH", Value: look.path}}})
		if look.want == "" {
			require.ErrorIs(t, err, ErrCommandNotFound, "%+v", look)
			continue
		}
		require.NoError(t, err, "%+v", look)
		require.Equal(t, look.want, filepath.Clean(c.Path), "%+v", look)
		require.Equal(t, []string{look.command}, c.Args)
		require.Equal(t, work, c.Dir)
	}
}

func TestShellLines(t *testing.T) {
	dir := t.TempDir()
	program(t, dir+"/tool")
	program(t, dir+"/my tool")
	for _, line := range []struct {
		mode    ShellMode
		command string
		args    []string
		shell   bool
		fails   bool
	}{
		{ShellAuto, "npm test && git diff", nil, true, false},
		{ShellAuto, "npm test && git diff", []string{}, true, false},
		{ShellAuto, "tool", nil, false, false},
		{ShellAuto, "my tool", nil, false, false}, // a program of that exact name
		{ShellAuto, dir + "/my tool", nil, false, false},
		{ShellAuto, "tool -v", nil, true, false},
		{ShellAuto, "tool;tool", nil, true, false},
		{ShellAuto, "A=1", nil, true, false},
		{ShellAuto, "no-such-tool", nil, false, true},           // no syntax
		{ShellAuto, "no such tool", []string{"x"}, false, true}, // arguments
		{ShellNever, "tool -v", nil, false, true},
		{ShellMode(9), "tool -v", nil, false, true},
		{ShellMode(-1), "tool", nil, false, false},
		{ShellAlways, "tool", nil, true, false},
		{ShellAlways, "tool", []string{"-v"}, false, false},
	} {
		o := Options{Env: []string{"PATH=" + dir}, Shell: line.mode}
		c, err := o.resolve(t.Context(), CreateTerminalRequest{SessionID: "s", Command: line.command, Args: line.args})
		if line.fails {
			require.ErrorIs(t, err, ErrCommandNotFound, "%+v", line)
			continue
		}
		require.NoError(t, err, "%+v", line)
		require.Equal(t, line.shell, c.ShellLine != "", "%+v", line)
		if line.shell {
			require.Equal(t, "/bin/sh", c.Path)
			require.Equal(t, []string{"sh", "-c", line.command}, c.Args)
			require.Equal(t, line.command, c.String())
		}
	}
}

func TestMergeEnv(t *testing.T) {
	base := []string{"A=1", "B=2", "A=3", "broken", "PWD=/elsewhere", "EMPTY=", ""}
	require.Equal(t, []string{"A=3", "B=2", "PWD=/elsewhere", "EMPTY="}, lookup.Once(base))
	set := []EnvVariable{{Name: "B", Value: "x"}, {Name: "C", Value: "a=b"}, {Name: "B", Value: "y"}}
	merged := mergeEnv(lookup.Once(base), "/dir", set)
	require.Equal(t, []string{"A=3", "B=y", "PWD=/dir", "EMPTY=", "C=a=b"}, merged)
	require.Equal(t, []string{"PWD=/set"}, mergeEnv(nil, "/dir", []EnvVariable{{Name: "PWD", Value: "/set"}}))
}

func TestCommandForPeople(t *testing.T) {
	require.Equal(t, `go test -run "a b" ./...`, Command{Args: []string{"go", "test", "-run", "a b", "./..."}}.String())
	require.Equal(t, `x ""`, Command{Args: []string{"x", ""}}.String())
}
