package lookup

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// The text of a command for PowerShell follows the statement for UTF-8. Everything else stays as it was.
func TestPowerShellLine(t *testing.T) {
	const utf8 = "try{$OutputEncoding=[Console]::OutputEncoding=New-Object Text.UTF8Encoding}catch{};"
	for _, c := range []struct{ args, want []string }{
		{[]string{"-NoProfile", "-NonInteractive", "-Command", `"é" | % { $_ }`},
			[]string{"-NoProfile", "-NonInteractive", "-Command", utf8, `"é" | % { $_ }`}},
		{[]string{"-c", "Get-Item", "x"}, []string{"-c", utf8, "Get-Item", "x"}},
		{[]string{"/COM", "ls"}, []string{"/COM", utf8, "ls"}},
		{[]string{"-nop", "-ep", "Bypass", "-Version", "5", "-c", "ls"},
			[]string{"-nop", "-ep", "Bypass", "-Version", "5", "-c", utf8, "ls"}},
		{args: []string{"-c"}}, {args: []string{"-Command", "-"}}, {args: nil}, {args: []string{"-"}},
		{args: []string{"-File", "x.ps1", "-c", "y"}}, {args: []string{"-f", "x.ps1"}},
		{args: []string{"-EncodedCommand", "bABzAA=="}}, {args: []string{"-e", "bABzAA==", "-c"}},
		{args: []string{"-ExecutionPolicy", "-c"}}, {args: []string{"-NoProfile"}},
	} {
		for _, path := range []string{`C:\Windows\System32\WindowsPowerShell\v1.0\PowerShell.exe`, `C:\a b\pwsh.exe`} {
			args := append([]string{"powershell"}, c.args...)
			program, line, err := CommandLine(path, args, "")
			require.NoError(t, err)
			require.Equal(t, path, program)
			if c.want == nil {
				require.Empty(t, line, "%q", c.args)
				continue
			}
			got, err := windows.DecomposeCommandLine(line)
			require.NoError(t, err)
			require.Equal(t, append([]string{"powershell"}, c.want...), got)
		}
	}
	// The first other argument is the text only for Windows PowerShell.
	for path, changed := range map[string]bool{`C:\powershell.exe`: true, `C:\pwsh.exe`: false, `C:\x.exe`: false} {
		_, line, err := CommandLine(path, []string{"x", "-NoLogo", "ls"}, "")
		require.NoError(t, err)
		require.Equal(t, changed, line != "", path)
	}
}
