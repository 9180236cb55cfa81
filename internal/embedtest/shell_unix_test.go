//go:build unix

package embedtest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
)

// The shells of KnownShell on this machine run lines, with their own syntax and exit codes.
func TestShellsOfThisMachine(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for _, c := range []struct{ name, line, want string }{
		{"sh", `x="a  b"; echo "$x"; exit 5`, "a  b\n"},
		{"dash", `x="a  b"; echo "$x"; exit 5`, "a  b\n"},
		{"bash", `x=(a b); [[ $x == a ]] && echo "${x[1]}"; exit 5`, "b\n"},
		{"bash-login", `shopt -q login_shell && echo {a,b}; exit 5`, "a b\n"},
		{"zsh", `x=(a b); print -r -- ${x[1]} "${(U)x}"; exit 5`, "a A B\n"},
		{"zsh-login", `[[ -o login ]] && print yes; exit 5`, "yes\n"},
		{"fish", `set x a b; for i in $x; echo "<$i>"; end; exit 5`, "<a>\n<b>\n"},
	} {
		shell, err := usershell.KnownShell(c.name)
		require.NoError(t, err)
		if _, err := exec.LookPath(shell.Program); err != nil {
			require.Empty(t, os.Getenv("ACPTERM_REQUIRE_SHELLS"), c.name)
			t.Logf("there is no %s", shell.Program)
			continue
		}
		session := acpterm.SessionID(c.name)
		require.NoError(t, m.OpenSession(session, &acpterm.SessionOptions{
			Commands: acpterm.CommandOptions{Shell: &shell},
		}))
		term := hosttest.Finish(t, m, hosttest.InSession(session, hosttest.CommandRequest(c.line)))
		require.Contains(t, term.Output().Output, c.want, c.name)
		require.EqualValues(t, 5, *term.Output().ExitStatus.ExitCode, c.name)
		require.Equal(t, c.line, term.Command().ShellLine)
	}
}

// git runs its editor as below, with a file that ends with lines of comments about what can be edited.
func TestTheEditorOfGitPrintsNoComments(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	line := `printf 'pick 1 a # b\n\n# Commands:\n#\n' >list && sh -c "$GIT_EDITOR \"\$@\"" "" list`
	request := hosttest.CommandRequest(line)
	request.Cwd = t.TempDir()
	require.Equal(t, "pick 1 a # b\n\n", hosttest.Finish(t, m, request).Output().Output)
}
