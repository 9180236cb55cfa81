//go:build linux || darwin || freebsd

package terminaltest

// Looking up programs, shell lines and environments.

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
)

func lookupTests() []test {
	return []test{
		{"ShellLines", TestShellLines},
		{"NoShell", TestNoShell},
		{"TheHostsShell", TestTheHostsShell},
		{"LongShellLines", TestLongShellLines},
		{"ShellThatIsNotThere", TestShellThatIsNotThere},
		{"LoginShell", TestLoginShell},
		{"EnvironmentOfACommand", TestEnvironmentOfACommand},
	}
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
	require.ElementsMatch(t, append(Unattended(), "PWD=/set"), c.Env)
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
	policy := new(Verdict)
	options.Policy = policy
	m := p.NewManager(t, &options)
	defer m.Close()
	_, err := m.Create(t.Context(), req, nil)
	if errors.Is(err, acpterm.ErrDenied) {
		c := policy.Seen[0].Command
		c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, leaktest.Variable+"=") })
		return c, nil
	}
	return acpterm.Command{}, err
}
