package shell_test

import (
	"testing"

	"github.com/acpterm/acpterm"
	_ "github.com/acpterm/acpterm/internal/wintest" // lets tests remove their files under Wine
	"github.com/acpterm/acpterm/policy"
	"github.com/acpterm/acpterm/policy/shell"
	"github.com/stretchr/testify/require"
)

// On Windows, lines are not read: those for cmd.exe, PowerShell and bash are denied, or left to the rules as a whole.
// Plain commands that run a shell are denied regardless of the rules.
func TestLinesOnWindows(t *testing.T) {
	for _, c := range []acpterm.Command{
		{Path: `C:\windows\system32\cmd.exe`, Args: []string{"cmd.exe", "/d", "/s", "/c", "true"}},
		{Path: `C:\p\pwsh.exe`, Args: []string{"pwsh", "-Command", "true"}},
		{Path: `C:\Git\bin\bash.exe`, Args: []string{"bash", "-c", "true"}},
		{Path: `C:\windows\system32\wsl.exe`, Args: []string{"wsl", "--exec", "bash", "-c", "true"}},
	} {
		plain := acpterm.Proposal{Command: c, Name: c.Args[0]}
		line := plain
		line.Command.ShellLine = "true"
		for _, verdict := range []acpterm.Verdict{acpterm.VerdictDeny, acpterm.VerdictAsk, acpterm.VerdictAllow} {
			rules, err := policy.Rules{Default: acpterm.VerdictAllow, ShellLines: verdict}.Compile(nil)
			require.NoError(t, err)
			require.Equal(t, acpterm.VerdictDeny, shell.NewPolicy(rules, nil).Decide(t.Context(), line).Verdict)
			p := shell.NewPolicy(rules, &shell.Options{OtherShells: true, LoginShells: true})
			require.Equal(t, verdict, p.Decide(t.Context(), line).Verdict, c.Path)
			for _, name := range []string{"PATH", "Path", "COMSPEC", "PSModulePath", "BASH_ENV", "WSLENV"} {
				set := line
				set.Requested.Env = []acpterm.EnvVariable{{Name: name, Value: `C:\evil`}}
				require.Equal(t, acpterm.VerdictDeny, p.Decide(t.Context(), set).Verdict, name)
			}
			if c.Args[0] != "bash" { // its text is read, and the program true does not exist here
				require.Equal(t, acpterm.VerdictDeny, p.Decide(t.Context(), plain).Verdict, c.Path)
			}
		}
	}
}
