package lookup

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/acpterm/acpterm/internal/wintest" // without it, Wine 8 cannot remove directories
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

func TestSystemRootIsAlwaysThere(t *testing.T) {
	require.Equal(t, []string{"A=1", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, WithSystemRoot([]string{"A=1"}))
	require.Equal(t, []string{"SystemRoot=x"}, WithSystemRoot([]string{"SystemRoot=x"}))
	require.NotEmpty(t, os.Getenv("SYSTEMROOT"))
}

// Arguments of a batch file arrive as intended, or are refused.
func TestBatchLine(t *testing.T) {
	shell, err := cmdExe()
	require.NoError(t, err)
	for arg, want := range map[string]string{
		"":                 `""`,
		"plain":            `plain`,
		`C:\dir\`:          `C:\dir\`,
		"--level=3":        `"--level=3"`, // cmd.exe separates words at "=", "," and ";"
		"a b":              `"a b"`,
		"a&calc":           `"a&calc"`,
		"a|b>c<d(e)^f":     `"a|b>c<d(e)^f"`,
		"tab\there":        "\"tab\there\"",
		"é✓":               `"é✓"`,
		"'single' $HOME":   `"'single' $HOME"`,
		"a\\b\u00a0\u3000": "\"a\\b\u00a0\u3000\"",
	} {
		program, line, err := CommandLine(`C:\a b\x.CMD`, []string{"x", "first", arg}, "")
		require.NoError(t, err, arg)
		require.Equal(t, shell, program)
		require.Equal(t, `cmd.exe /d /e:on /v:off /s /c ""C:\a b\x.CMD" first `+want+`"`, line)
	}
	for _, arg := range []string{`"&calc`, `a"b`, "%PATH%", "100%", "!x!", "a\nb", "a\rb", "\x1a", `C:\Program Files\`} {
		_, _, err := CommandLine(`C:\x.bat`, []string{"x", "first", arg}, "")
		require.IsType(t, &FieldError{}, err, "%q", arg)
		require.Equal(t, "args[1]", err.(*FieldError).Field)
	}
	_, _, err = CommandLine(`C:\%PATH%\x.bat`, []string{"x"}, "")
	require.Equal(t, "command", err.(*FieldError).Field)
	_, _, err = CommandLine(`C:\x.bat`, []string{"x", strings.Repeat("é", cmdLimit)}, "")
	require.Equal(t, "args", err.(*FieldError).Field)

	program, line, err := CommandLine(`C:\x.exe`, []string{"x", `"&calc`}, "")
	require.NoError(t, err)
	require.Equal(t, `C:\x.exe`, program)
	require.Empty(t, line, "syscall makes it")
}

// The interpreter of the host's shell: cmd is the system's own, bash is not the launcher of WSL, and batch files and
// relative entries of PATH are ignored.
func TestInterpreter(t *testing.T) {
	system, err := windows.GetSystemDirectory()
	require.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{
		`WindowsApps\bash.exe`, `WindowsApps\pwsh.exe`, `a\cmd.exe`, `a\fish.bat`, `a\fish.cmd`, `mine\bash.exe`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	env := func(entries ...string) []string {
		for i, entry := range entries {
			if entry != "." && !filepath.IsAbs(entry) {
				entries[i] = filepath.Join(dir, entry)
			}
		}
		return []string{"Path=" + strings.Join(entries, ";"), "PATHEXT=.BAT;.CMD", `COMSPEC=C:\evil.exe`}
	}
	apps := env("WindowsApps", system, strings.ToUpper(system)+`\`, "a", ".")
	for _, c := range []struct {
		name string
		env  []string
		want string // in dir, unless it is absolute; empty if not found
	}{
		{"cmd", apps, filepath.Join(system, "cmd.exe")}, {"CMD.EXE", nil, filepath.Join(system, "cmd.exe")},
		{"pwsh", apps, `WindowsApps\pwsh.exe`}, {"bash", apps, ""}, {"BASH.exe", apps, ""}, {"fish", apps, ""},
		{"bash", env("WindowsApps", system, "mine"), `mine\bash.exe`},
		{filepath.Join(dir, `mine\bash`), nil, `mine\bash.exe`},
	} {
		got, err := Interpreter(c.name, c.env)
		if c.want == "" {
			require.ErrorIs(t, err, fs.ErrNotExist, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		if !filepath.IsAbs(c.want) {
			c.want = filepath.Join(dir, c.want)
		}
		require.True(t, strings.EqualFold(c.want, got), "%s: %s", c.name, got)
	}
}
