//go:build linux || darwin || freebsd

package terminaltest

// Looking up programs, shell lines and environments.

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
)

func lookupTests() []test {
	return []test{
		{"LookUp", TestLookUp},
		{"LookUpOfAFileThatCannotBeExecuted", TestLookUpOfAFileThatCannotBeExecuted},
		{"ShellLines", TestShellLines},
		{"NoShell", TestNoShell},
		{"TheHostsShell", TestTheHostsShell},
		{"LongShellLines", TestLongShellLines},
		{"ShellThatIsNotThere", TestShellThatIsNotThere},
		{"LoginShell", TestLoginShell},
		{"EnvironmentOfACommand", TestEnvironmentOfACommand},
	}
}

// The command is looked up with the PATH and the directory it will run with, not with the host's.
func TestLookUp(t *testing.T, p Place) {
	dir := p.TempDir(t)
	inBin := p.program(t, dir+"/bin/tool")
	inLib := p.program(t, dir+"/lib/tool")
	here := p.program(t, dir+"/work/tool")
	require.NoError(t, p.writeFile(dir+"/plain", nil, 0o600))
	unreadable := p.unreadable(t, dir)
	work := dir + "/work"

	for _, look := range []struct{ command, path, want string }{
		{"tool", dir + "/bin:" + dir + "/lib", inBin},
		{"tool", dir + "/lib:" + dir + "/bin", inLib},
		{"tool", dir + "/missing:" + dir + "/plain:" + dir + "/bin", inBin}, // entries that are not directories
		{"tool", unreadable + ":" + dir + "/bin", inBin},                    // entries with nothing to find
		{"tool", unreadable, ""},
		{"tool", ".", here},         // relative to the command's directory
		{"tool", "../lib", inLib},   // also relative to it
		{"./tool", "", here},        // a path needs no PATH
		{"../bin/tool", "", inBin},  // relative to the command's directory
		{inLib, "", inLib},          // absolute
		{"tool", ":" + dir, here},   // an empty entry is the command's directory
		{"tool", "bin:lib:..", ""},  // nothing there
		{"tool", "", ""},            // no PATH at all, and the host's is not used either
		{"other", dir + "/bin", ""}, // no such program
		{"./other", dir + "/bin", ""},
		{"sh", dir + "/bin", ""}, // the host has one
	} {
		req := CommandRequest(look.command)
		req.Cwd, req.Env = work, []acpterm.EnvVariable{{Name: "PATH", Value: look.path}}
		options := acpterm.Options{
			Commands: acpterm.CommandOptions{Env: []string{"PATH=/nonexistent"}, ShellLines: acpterm.ShellNever},
		}
		c, err := p.proposed(t, options, req)
		if look.want == "" {
			require.ErrorIs(t, err, acpterm.ErrCommandNotFound, "%+v", look)
			continue
		}
		require.NoError(t, err, "%+v", look)
		require.Equal(t, look.want, c.Path, "%+v", look)
		require.Equal(t, []string{look.command}, c.Args)
		require.Equal(t, work, c.Dir)
	}
}

// A file without execute permission decides the result only if no later entry of PATH has the program.
func TestLookUpOfAFileThatCannotBeExecuted(t *testing.T, p Place) {
	dir := p.TempDir(t)
	tool := p.program(t, dir+"/bin/tool")
	require.NoError(t, p.mkdir(dir+"/lib", 0o700))
	require.NoError(t, p.writeFile(dir+"/lib/tool", nil, 0o600))
	path := dir + "/lib:" + p.unreadable(t, dir)
	options := acpterm.Options{Commands: acpterm.CommandOptions{Env: []string{"PATH=" + path}}}
	_, err := p.proposed(t, options, CommandRequest("tool"))
	require.ErrorIs(t, err, acpterm.ErrNotExecutable)
	options.Commands.Env = []string{"PATH=" + path + ":" + dir + "/bin"}
	c, err := p.proposed(t, options, CommandRequest("tool"))
	require.NoError(t, err)
	require.Equal(t, tool, c.Path)
}

func TestShellLines(t *testing.T, p Place) {
	dir := p.TempDir(t)
	p.program(t, dir+"/tool")
	p.program(t, dir+"/my tool")
	unreadable := p.unreadable(t, dir)
	sh, err := p.real("/bin/sh")
	require.NoError(t, err)
	for _, line := range []struct {
		mode    acpterm.ShellMode
		command string
		args    []string
		shell   bool
		fails   bool
	}{
		{acpterm.ShellAuto, "npm test && git diff", nil, true, false},
		{acpterm.ShellAuto, "npm test && git diff", []string{}, true, false},
		{acpterm.ShellAuto, "tool", nil, false, false},
		{acpterm.ShellAuto, "my tool", nil, false, false}, // a program with exactly that name
		{acpterm.ShellAuto, dir + "/my tool", nil, false, false},
		{acpterm.ShellAuto, "tool -v", nil, true, false},
		{acpterm.ShellAuto, "tool;tool", nil, true, false},
		{acpterm.ShellAuto, "A=1", nil, true, false},
		{acpterm.ShellAuto, "no-such-tool", nil, false, true},           // no syntax
		{acpterm.ShellAuto, "no such tool", []string{"x"}, false, true}, // arguments
		{acpterm.ShellNever, "tool -v", nil, false, true},
		{acpterm.ShellAlways, "tool", nil, true, false},
		{acpterm.ShellAlways, "tool", []string{"-v"}, false, false},
	} {
		options := acpterm.Options{
			Commands: acpterm.CommandOptions{Env: []string{"PATH=" + unreadable + ":" + dir}, ShellLines: line.mode},
		}
		c, err := p.proposed(t, options, CommandRequest(line.command, line.args...))
		if line.fails {
			require.ErrorIs(t, err, acpterm.ErrCommandNotFound, "%+v", line)
			continue
		}
		require.NoError(t, err, "%+v", line)
		require.Equal(t, line.shell, c.ShellLine != "", "%+v", line)
		if line.shell {
			require.Equal(t, sh, c.Path)
			require.Equal(t, []string{"sh", "-c", line.command}, c.Args)
			require.Equal(t, line.command, c.String())
		}
	}
}

// The options of Create override the manager's.
func TestNoShell(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{ShellLines: acpterm.ShellAlways}})
	for _, missing := range []string{"exit 0", "acpterm-no-such-program"} {
		_, err := m.Create(t.Context(), CommandRequest(missing), &acpterm.CommandOptions{
			ShellLines: acpterm.ShellNever,
		})
		require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
	}
	term := Create(t, m, CommandRequest(p.Program), &acpterm.CommandOptions{ShellLines: acpterm.ShellNever})
	require.Empty(t, term.Command().ShellLine)
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
}

// A variable has one value: the last one in the options, unless the request sets it. PWD is the directory.
func TestEnvironmentOfACommand(t *testing.T, p Place) {
	dir := p.TempDir(t)
	options := acpterm.Options{
		Commands: acpterm.CommandOptions{
			Env:        []string{"A=1", "B=2", "A=3", "broken", "PWD=/elsewhere", "EMPTY=", ""},
			Unattended: []string{},
		},
	}
	req := CommandRequest("/bin/sh")
	req.Cwd = dir
	req.Env = []acpterm.EnvVariable{{Name: "B", Value: "x"}, {Name: "C", Value: "a=b"}, {Name: "B", Value: "y"}}
	c, err := p.proposed(t, options, req)
	require.NoError(t, err)
	require.Equal(t, []string{"A=3", "B=y", "PWD=" + dir, "EMPTY=", "C=a=b"}, c.Env)
	req.Env = []acpterm.EnvVariable{{Name: "PWD", Value: "/set"}}
	c, err = p.proposed(t, acpterm.Options{
		Commands: acpterm.CommandOptions{Env: []string{}, Unattended: []string{}},
	}, req)
	require.NoError(t, err)
	require.Equal(t, []string{"PWD=/set"}, c.Env)
	req.Env = nil
	c, err = p.proposed(t, acpterm.Options{
		Commands: acpterm.CommandOptions{Env: []string{}, Unattended: []string{}},
	}, req)
	require.NoError(t, err)
	require.Equal(t, []string{"PWD=" + dir}, c.Env, "even without variables")
	req.Env = []acpterm.EnvVariable{{Name: "PWD", Value: "/set"}}
	c, err = p.proposed(t, acpterm.Options{Commands: acpterm.CommandOptions{Env: []string{"EDITOR=vi"}}}, req)
	require.NoError(t, err)
	require.ElementsMatch(t, append(acpterm.UnattendedVariables(), "PWD=/set"), c.Env)
}

// program writes an executable file to a path.
func (p Place) program(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, p.mkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, p.writeFile(path, []byte("#!/bin/sh\n"), 0o700))
	return path
}

// unreadable makes entries of PATH in a directory: one that only root may look into, and one that not even root can.
func (p Place) unreadable(t *testing.T, dir string) string {
	t.Helper()
	require.NoError(t, p.mkdir(dir+"/closed", 0o600))
	require.NoError(t, p.symlink("loop", dir+"/loop"))
	return dir + "/closed:" + dir + "/loop"
}

// proposed returns the command that a policy sees for a request, without the tests' own variable, or an earlier error.
func (p Place) proposed(t *testing.T, options acpterm.Options,
	req acpterm.CreateTerminalRequest) (acpterm.Command, error) {
	t.Helper()
	policy := new(verdict)
	options.Policy = policy
	m := p.NewManager(t, &options)
	defer m.Close()
	_, err := m.Create(t.Context(), req, nil)
	if errors.Is(err, acpterm.ErrDenied) {
		c := policy.seen[0].Command
		c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, leaktest.Variable+"=") })
		return c, nil
	}
	return acpterm.Command{}, err
}
