package acpterm

// Which interpreter runs shell lines, by CommandOptions.Shell.

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Shell is what runs shell lines: a program, which gets the line as its last argument. The zero value is the system's:
// /bin/sh -c, or cmd.exe /d /s /c from Windows' system directory. usershell.KnownShell has the
// usual ones.
//
// The exit code of a line is that of the interpreter. PowerShell's -Command makes 1 of every code of a program but 0,
// unless the line ends with "exit $LASTEXITCODE".
type Shell struct {
	// Program is the interpreter: a name, or an absolute path. A name is looked up, at each create, in the absolute
	// entries of the PATH that commands inherit from CommandOptions.Env, and never in the agent's; with
	// Options.Runner, where that runs commands. On Windows names mean programs with the extension .exe, "cmd" is the
	// system's own, and "bash" is not the launcher of WSL. Empty: the system's shell; then Args is empty.
	Program string
	// Args stand before the line. The last one has to be the option that takes the line, "-c" for most shells. cmd.exe
	// gets the line as it is, without escapes, for which it needs "/s" and, as the last, "/c".
	Args []string
}

// validate returns why a shell cannot hold, which is the value of an option, or nil.
func (s Shell) validate(option string, runner Runner) error {
	isPath := lookup.NamesPath(s.Program)
	isAbs := filepath.IsAbs(s.Program)
	if runner != nil {
		isPath, isAbs = strings.Contains(s.Program, "/"), isAbs || path.IsAbs(s.Program)
	}
	switch {
	case s.Program == "" && len(s.Args) > 0:
		return optionError(option, "has Args without a Program")
	case s.Program == "":
		return nil
	case hasNUL(s.Program) || slices.ContainsFunc(s.Args, hasNUL):
		return optionError(option, "must not contain NUL")
	case isPath && !isAbs:
		return optionError(option, "its Program must be a name or an absolute path")
	case len(s.Args) == 0:
		return optionError(option, `needs Args that the line can follow, such as "-c"`)
	}
	if runner == nil {
		if reason := lookup.RefusedShell(s.Program, s.Args); reason != "" {
			return optionError(option, reason)
		}
	}
	return nil
}

func (s Shell) clone() Shell { return Shell{s.Program, slices.Clone(s.Args)} }

// cannotRun is the error for a shell that is not there or cannot be executed, which is the host's mistake.
func (s Shell) cannotRun(err error) error {
	return &Error{Kind: ErrInternal, Field: "CommandOptions.Shell",
		Reason: fmt.Sprintf("the shell %q cannot be run: %s", s.Program, lookup.Reason(err)), Err: err}
}
