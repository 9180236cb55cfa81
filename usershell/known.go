// Package usershell reads the user's shell settings for programs that embed acpterm. A program started from the desktop
// does not have the directories that the start-up files of the login shell add to PATH. [LoginEnvironment] therefore
// runs the login shell once and returns its environment. [KnownShell] returns the shell with a given name in an
// editor's settings:
//
//	login, err := usershell.LoginEnvironment(ctx, nil)
//	shell, err := usershell.KnownShell("zsh")
//	m, err := acpterm.NewManager(&acpterm.Options{
//		Commands: acpterm.CommandOptions{Env: login.Env(), Shell: &shell},
//	})
package usershell

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/lookup"
)

// knownShells maps the names of KnownShell to shells, except for git-bash.
var knownShells = map[string]struct {
	program string
	args    []string
	windows bool // exists only on Windows
}{
	"sh":         {"sh", []string{"-c"}, false},
	"dash":       {"dash", []string{"-c"}, false},
	"bash":       {"bash", []string{"-c"}, false},
	"bash-login": {"bash", []string{"-lc"}, false},
	"zsh":        {"zsh", []string{"-c"}, false},
	"zsh-login":  {"zsh", []string{"-lc"}, false},
	"fish":       {"fish", []string{"-c"}, false},
	"pwsh":       {"pwsh", []string{"-NoProfile", "-NonInteractive", "-Command"}, false},
	"powershell": {"powershell", []string{"-NoProfile", "-NonInteractive", "-Command"}, true},
	"cmd":        {"cmd", []string{"/d", "/s", "/c"}, true},
	"wsl":        {"wsl", []string{"--exec", "bash", "-c"}, true},
}

const gitBash = "git-bash"

// KnownShell returns the shell with the given name, as used in an editor's settings. The name must be sh, dash, bash,
// bash-login, zsh, zsh-login, fish or pwsh (PowerShell 7) or, on Windows only, powershell (Windows PowerShell), cmd,
// wsl (bash in the default distribution) or git-bash. The bash.exe of git-bash is looked up when KnownShell is called,
// relative to the git.exe found in this process's PATH, or else in that of the registry. All other shells are looked up
// each time a terminal is created.
// If the name is unknown or the shell does not exist on this system, KnownShell returns an *acpterm.Error of kind
// acpterm.ErrInternal.
func KnownShell(name string) (acpterm.Shell, error) {
	known, ok := knownShells[name]
	switch {
	case name == gitBash:
		program, err := findGitBash(os.Environ())
		if err != nil {
			program, err = findGitBash(registryEnv())
		}
		if err != nil {
			return acpterm.Shell{}, unknown("there is no bash.exe of a Git for Windows in PATH", err)
		}
		return acpterm.Shell{Program: program, Args: []string{"-c"}}, nil
	case !ok:
		names := strings.Join(slices.Sorted(maps.Keys(knownShells)), ", ")
		return acpterm.Shell{}, unknown(fmt.Sprintf("%q is none of %s, %s", name, names, gitBash), nil)
	case known.windows && runtime.GOOS != "windows":
		return acpterm.Shell{}, unknown(fmt.Sprintf("there is %s on Windows only", name), nil)
	}
	return acpterm.Shell{Program: known.program, Args: slices.Clone(known.args)}, nil
}

// findGitBash finds the bash.exe of the Git for Windows whose git.exe is in an environment's PATH: in Git\cmd, Git\bin
// or Git\mingw64\bin. It returns fs.ErrNotExist.
func findGitBash(env []string) (string, error) {
	for _, dir := range filepath.SplitList(lookup.Getenv(env, "PATH")) {
		if _, err := lookup.Interpreter(filepath.Join(dir, "git"), nil); err != nil {
			continue
		}
		for _, bin := range []string{`..\bin`, `..\..\bin`} {
			if bash, err := lookup.Interpreter(filepath.Join(dir, bin, "bash"), nil); err == nil {
				return bash, nil
			}
		}
	}
	return "", fs.ErrNotExist
}

func unknown(reason string, err error) error {
	return &acpterm.Error{Kind: acpterm.ErrInternal, Field: "CommandOptions.Shell", Reason: reason, Err: err}
}
