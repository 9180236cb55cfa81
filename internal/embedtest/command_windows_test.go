package embedtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// files creates empty files in a new directory.
func files(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = hosttest.RealTempDir(t)
	for _, name := range names {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	return dir
}

// rootless returns a directory without its drive.
func rootless(dir string) string { return strings.TrimPrefix(dir, filepath.VolumeName(dir)) }

// The command is looked up with the PATH, the PATHEXT and the directory it will run with.
func TestLookUpOnWindows(t *testing.T) {
	dir := files(t, "bin/tool.exe", "bin/tool.cmd", "lib/tool.cmd", "lib/tool.exe.exe", "work/tool.bat", "work/plain",
		"work/notes.txt", "work/other.ps1")
	for _, look := range []struct{ command, path, pathext, want string }{
		{"tool", `bin;lib`, ".EXE;.CMD", `bin\tool.exe`},
		{"tool", `bin;lib`, ".cmd;.exe", `bin\tool.cmd`}, // in PATHEXT's order
		{"tool", `lib;bin`, ".EXE;.CMD", `lib\tool.cmd`},
		{"TOOL", `bin`, "", `bin\TOOL.exe`},         // without PATHEXT, the usual ones
		{"tool", `work`, ".EXE", ""},                // not one of the extensions
		{"other", `work`, ".ps1", `work\other.ps1`}, // PATHEXT is the request's
		{"other", `work`, "PS1", `work\other.ps1`},  // cmd.exe also accepts it without the dot
		{"tool.exe", `lib;bin`, ".EXE", `lib\tool.exe.exe`},
		{"tool.exe", `bin`, ".CMD", `bin\tool.exe`}, // a given extension counts
		{`..\bin\tool`, ``, "", `bin\tool.exe`},     // relative to the command's directory
		{`../bin/tool`, ``, "", `bin\tool.exe`},
		{`.\tool`, `bin`, "", `work\tool.bat`},
		{`.\tool.bat. .`, ``, "", `work\tool.bat`},            // the name that Windows makes of it
		{"tool", `.`, "", `work\tool.bat`},                    // an entry relative to the command's directory
		{"tool", ``, "", ""},                                  // that directory is not searched unless PATH names it
		{rootless(dir) + `\bin\tool`, ``, "", `bin\tool.exe`}, // on the directory's drive
		{filepath.VolumeName(dir) + `tool`, `bin`, "", ""},    // the drive's own directory is unknown
		{"nul", `work`, "", ""},
		{`.\nul`, ``, "", ""},
	} {
		entries := strings.Split(look.path, ";")
		for i, entry := range entries {
			if entry != "" && entry != "." {
				entries[i] = filepath.Join(dir, entry)
			}
		}
		options := acpterm.Options{
			Commands: acpterm.CommandOptions{
				Env:        []string{`PATH=C:\nowhere`, "pathext=.none"},
				ShellLines: acpterm.ShellNever,
			},
		}
		req := hosttest.CommandRequest(look.command)
		req.Cwd = dir + `\work`
		path := strings.Join(entries, ";")
		req.Env = []acpterm.EnvVariable{{Name: "Path", Value: path}, {Name: "PathExt", Value: look.pathext}}
		c, err := proposed(t, options, req)
		if look.want == "" {
			require.ErrorIs(t, err, acpterm.ErrCommandNotFound, "%+v", look)
			continue
		}
		require.NoError(t, err, "%+v", look)
		require.True(t, strings.EqualFold(filepath.Join(dir, look.want), c.Path), "%+v: %s", look, c.Path)
	}
	for _, command := range []string{`.\plain`, dir} { // not a program; a directory
		req := hosttest.CommandRequest(command)
		req.Cwd = dir + `\work`
		_, err := proposed(t, acpterm.Options{Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellNever}}, req)
		require.ErrorIs(t, err, acpterm.ErrNotExecutable, command)
	}
}

func TestNamesOfVariablesHaveNoCase(t *testing.T) {
	req := hosttest.ChildRequest("exit", "0")
	req.Env = []acpterm.EnvVariable{{Name: "path", Value: "c"}, {Name: "TEMP", Value: "u"}, {Name: "New", Value: "n"}}
	env := []string{"Path=a", `=C:=C:\dir`, "PATH=b", "Temp=t", "SystemRoot=r"}
	c, err := proposed(t, acpterm.Options{Commands: acpterm.CommandOptions{Env: env, Unattended: []string{}}}, req)
	require.NoError(t, err)
	require.Equal(t, []string{"path=c", `=C:=C:\dir`, "TEMP=u", "SystemRoot=r", "New=n"}, c.Env)
	require.Equal(t, "c", lookup.Getenv(c.Env, "PATH"))
}

func TestShellLinesOnWindows(t *testing.T) {
	options := acpterm.Options{
		Commands: acpterm.CommandOptions{
			ShellLines: acpterm.ShellAlways,
			Env:        []string{`ComSpec=C:\evil.exe`, `SystemRoot=C:\evil`},
		},
	}
	c, err := proposed(t, options, hosttest.CommandRequest(`echo "a b" && dir`))
	require.NoError(t, err)
	program, line, err := lookup.CommandLine(c.Path, c.Args, c.ShellLine)
	require.NoError(t, err)
	system, err := windows.GetSystemDirectory()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(system, "cmd.exe"), program)
	require.Equal(t, `cmd.exe /d /s /c "echo "a b" && dir"`, line)
	// A line moved from the last argument, or passed to another program, is quoted as usual.
	for _, changed := range []acpterm.Command{
		{Path: c.Path, Args: []string{"cmd.exe", "/c", "ver"}}, {Path: `C:\x.exe`, Args: c.Args},
	} {
		_, line, err := lookup.CommandLine(changed.Path, changed.Args, c.ShellLine)
		require.NoError(t, err)
		require.Empty(t, line)
	}

	for _, line := range []string{"echo a\necho b", "echo a\r", strings.Repeat("x", 8191)} {
		_, err := proposed(t, options, hosttest.CommandRequest(line))
		require.ErrorIs(t, err, acpterm.ErrInvalidParams)
		require.Equal(t, "command", err.(*acpterm.Error).Field)
	}
}

// proposed returns the command that a policy sees for a request, or an earlier error.
func proposed(t *testing.T, options acpterm.Options, req acpterm.CreateTerminalRequest) (acpterm.Command, error) {
	t.Helper()
	policy := new(terminaltest.Verdict)
	options.Policy = policy
	m := hosttest.Must(acpterm.NewManager(&options)) // hosttest.NewManager would add a variable
	defer m.Close()
	_, err := m.Create(t.Context(), req, nil)
	if errors.Is(err, acpterm.ErrDenied) {
		return policy.Seen[0].Command, nil
	}
	return acpterm.Command{}, err
}

// A text file as the program is the request's mistake. Options without an effect on Windows are the host's.
func TestCreateErrorsOnWindows(t *testing.T) {
	text := hosttest.NotAProgram(t)
	withFile := wrapFunc(func(c acpterm.Command) (acpterm.Wrapped, error) {
		file, err := os.Open(os.DevNull)
		return acpterm.Wrapped{Command: c, Files: []*os.File{file}}, err
	})
	m := hosttest.NewManager(t, nil)
	want := terminaltest.CreateError{Kind: acpterm.ErrNotExecutable, Field: "command", Command: text, Code: -32602}
	require.Equal(t, want, terminaltest.FailedCreate(t, m, hosttest.CommandRequest(text)))
	for option, options := range map[string]*acpterm.Options{
		"cgroups":         {Cgroup: "x"},
		"inherited files": {Commands: acpterm.CommandOptions{Sandbox: withFile}},
	} {
		m := hosttest.NewManager(t, options)
		req := hosttest.ChildRequest("sleep")
		want := terminaltest.CreateError{Kind: acpterm.ErrInternal, Command: req.Command, Code: -32603}
		require.Equal(t, want, terminaltest.FailedCreate(t, m, req))
		_, err := m.Create(t.Context(), req, nil)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, option)
	}
}
