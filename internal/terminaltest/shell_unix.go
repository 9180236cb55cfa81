//go:build linux || darwin || freebsd

package terminaltest

// The interpreter that runs shell lines.

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
)

// interpreter writes a program that prints its name, and each of its arguments in brackets.
func (p Place) interpreter(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, p.mkdirAll(filepath.Dir(path), 0o700))
	script := "#!/bin/sh\nprintf '%s' \"${0##*/}\"\nprintf '[%s]' \"$@\"\nexit 7\n"
	require.NoError(t, p.writeFile(path, []byte(script), 0o700))
	return path
}

// The shell runs a line of any length, even longer than a file name or a path can be.
func TestLongShellLines(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	for _, size := range []int{200, 300, 5000, 70_000} {
		text := strings.Repeat("x", size)
		for _, line := range []string{"echo " + text, "/bin/echo " + text, "echo " + text + "; cd /"} {
			require.Equal(t, text+"\n", RunToEnd(t, m, CommandRequest(line)).Output, "%.20s, %d", line, size)
		}
	}
}

// The host chooses the interpreter. It is looked up in the PATH that commands inherit, not in the agent's PATH nor in
// the directory chosen by the agent, and gets the line as one argument.
func TestTheHostsShell(t *testing.T, p Place) {
	dir := p.TempDir(t)
	hosts := p.interpreter(t, dir+"/bin/pwsh")
	p.program(t, dir+"/agent/pwsh")
	p.program(t, dir+"/work/pwsh")
	p.program(t, dir+"/work/bin/pwsh")
	options := acpterm.Options{
		Commands: acpterm.CommandOptions{
			Env:   []string{"PATH=.:bin::" + dir + "/bin", "PWD=/"},
			Shell: &acpterm.Shell{Program: "pwsh", Args: []string{"-NoProfile", "-Command"}},
		},
	}
	const line = `Get-Item "a  b" | % { $_ } # 'x'`
	req := CommandRequest(line)
	req.Cwd = dir + "/work"
	req.Env = []acpterm.EnvVariable{{Name: "PATH", Value: dir + "/agent"}}
	for _, program := range []string{"pwsh", hosts} {
		options.Commands.Shell.Program = program
		c, err := p.proposed(t, options, req)
		require.NoError(t, err)
		require.Equal(t, hosts, c.Path)
		require.Equal(t, []string{program, "-NoProfile", "-Command", line}, c.Args)
		require.Equal(t, line, c.ShellLine)
		require.Equal(t, dir+"/work", c.Dir)
		require.Contains(t, c.Env, "PATH="+dir+"/agent") // for the commands in the line
		require.Contains(t, c.Env, "PWD="+dir+"/work")
	}

	m := p.NewManager(t, &options)
	req.Env = nil
	term := Finish(t, m, req)
	require.Equal(t, "pwsh[-NoProfile][-Command]["+line+"]", term.Output().Output)
	require.EqualValues(t, 7, *term.Output().ExitStatus.ExitCode)

	// A session's shell overrides the manager's, and the zero value means the system's.
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Shell: &acpterm.Shell{}},
	}))
	require.NoError(t, m.OpenSession("other", &acpterm.SessionOptions{
		Commands: acpterm.CommandOptions{Shell: &acpterm.Shell{Program: hosts, Args: []string{"-x"}}},
	}))
	require.Equal(t, "a b\n", Finish(t, m, CommandRequest("echo a b")).Output().Output)
	term = Finish(t, m, InSession("other", CommandRequest("echo a b")))
	require.Equal(t, "pwsh[-x][echo a b]", term.Output().Output)
}

// A missing shell is the host's mistake, regardless of the agent's PATH.
func TestShellThatIsNotThere(t *testing.T, p Place) {
	dir := p.TempDir(t)
	p.program(t, dir+"/agent/pwsh")
	require.NoError(t, p.mkdir(dir+"/bin", 0o700))
	require.NoError(t, p.writeFile(dir+"/bin/plain", []byte("text"), 0o600))
	for _, program := range []string{"pwsh", "plain", dir + "/bin/missing", dir + "/bin/plain", dir + "/bin"} {
		options := acpterm.Options{
			Commands: acpterm.CommandOptions{
				Env:   []string{"PATH=../agent:" + dir + "/bin"},
				Shell: &acpterm.Shell{Program: program, Args: []string{"-c"}},
			},
		}
		req := CommandRequest("a line")
		req.Cwd = dir + "/bin"
		req.Env = []acpterm.EnvVariable{{Name: "PATH", Value: dir + "/agent"}}
		_, err := p.proposed(t, options, req)
		require.ErrorIs(t, err, acpterm.ErrInternal, program)
		require.NotErrorIs(t, err, acpterm.ErrDenied)
		require.Equal(t, "CommandOptions.Shell", err.(*acpterm.Error).Field, program)
		require.ErrorContains(t, err, program)

		req = CommandRequest(p.Program, p.childArgs("exit", "0")[1:]...) // which needs no shell
		_, err = p.proposed(t, options, req)
		require.NoError(t, err)
	}
}

// A login shell runs its start-up files, and exits with the exit code of the line.
func TestLoginShell(t *testing.T, p Place) {
	bash, err := usershell.KnownShell("bash-login")
	require.NoError(t, err)
	shells := map[acpterm.SessionID]acpterm.Shell{"sh": {Program: "sh", Args: []string{"-lc"}}}
	if _, err := p.real("/bin/bash"); err == nil { // containers may lack it
		shells["bash"] = bash
	}
	home := p.TempDir(t)
	require.NoError(t, p.writeFile(home+"/.profile", []byte("FROM_PROFILE=yes\n"), 0o600))
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home}
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Env: env}})
	for name, shell := range shells {
		commands := acpterm.CommandOptions{Shell: &shell}
		require.NoError(t, m.OpenSession(name, &acpterm.SessionOptions{Commands: commands}))
		line := `test -n "${BASH_VERSION+set}" && shopt -q login_shell && echo bash; echo "$FROM_PROFILE"; exit 5`
		term := Finish(t, m, InSession(name, CommandRequest(line)))
		require.Contains(t, term.Output().Output, "yes\n", name)
		if name == "bash" {
			require.Equal(t, "bash\nyes\n", term.Output().Output)
		}
		require.EqualValues(t, 5, *term.Output().ExitStatus.ExitCode, name)
	}
}
