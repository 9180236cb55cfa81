package acpterm

// What differs between systems when a command is looked up: here, Windows.

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// envKey is what makes two names of variables the same: Windows compares them without case.
func envKey(name string) string { return strings.ToUpper(name) }

// namesPath reports whether a command is a path and so is not looked up in PATH.
func namesPath(command string) bool { return strings.ContainsAny(command, `:\/`) }

// findExecutable returns the file that path names, with one of the extensions of PATHEXT added unless it
// has one already.
func findExecutable(path string, env []string) (string, error) {
	extensions := filepath.SplitList(strings.ToLower(cmp.Or(getenv(env, "PATHEXT"), ".com;.exe;.bat;.cmd")))
	candidates := []string{path}
	if !slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
		candidates = nil
		for _, extension := range extensions {
			candidates = append(candidates, path+extension)
		}
	}
	for _, candidate := range candidates {
		if info, err := os.Stat(candidate); err == nil && !info.IsDir() {
			return candidate, nil
		}
	}
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return "", syscall.EISDIR
		}
		return "", syscall.ERROR_ACCESS_DENIED // there, but nothing that Windows would execute
	}
	return "", fs.ErrNotExist
}

// systemShell is how the system runs a line. The arguments are not escaped for cmd.exe here: it takes its
// line as it is (startGroup hands it over whole).
func systemShell(line string, env []string) (path string, args []string, err error) {
	path = cmp.Or(getenv(env, "ComSpec"), filepath.Join(cmp.Or(getenv(env, "SystemRoot"), `C:\Windows`), `System32\cmd.exe`))
	return path, []string{"cmd.exe", "/d", "/s", "/c", line}, nil
}
