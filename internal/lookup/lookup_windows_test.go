package lookup

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSystemRootIsAlwaysThere(t *testing.T) {
	require.Equal(t, []string{"A=1", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, WithSystemRoot([]string{"A=1"}))
	require.Equal(t, []string{"SystemRoot=x"}, WithSystemRoot([]string{"SystemRoot=x"}))
	require.NotEmpty(t, os.Getenv("SYSTEMROOT"))
}

// What a batch file is given reads as it was meant, or is refused.
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
