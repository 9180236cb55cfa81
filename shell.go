package acpterm

// Which interpreter runs shell lines, by CommandOptions.Shell.

import (
	"fmt"
	"slices"

	"github.com/acpterm/acpterm/internal/lookup"
)

// Shell is a program that runs shell lines; it gets the line as its last argument. The zero value is the system's
// shell: /bin/sh -c, or cmd.exe /d /s /c from Windows' system directory. usershell.KnownShell has the usual shells.
//
// The exit code of a line is that of the shell. PowerShell's -Command turns every exit code of a program except 0 into
// 1, unless the line ends with "exit $LASTEXITCODE".
type Shell struct {
	// Program is the name or absolute path of the shell. Each create looks a name up in the absolute entries of the
	// PATH of CommandOptions.Env, and never in that of the agent; with Options.Runner, where the Runner runs commands.
	// On Windows a name means a program with the extension .exe, "cmd" is the system's own, and "bash" is not the
	// launcher of WSL. If empty, the system's shell is used, and Args must be empty.
	Program string
	// Args come before the line. The last one must be the option that takes the line, "-c" for most shells. cmd.exe
	// gets the line without escapes and therefore needs "/s" and, as the last, "/c".
	Args []string
}

// validate returns why a shell cannot hold, which is the value of an option, or nil. isPath and isAbs say what Program
// is where commands run.
func (s Shell) validate(option string, isPath, isAbs bool) error {
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
	return nil
}

func (s Shell) clone() Shell { return Shell{s.Program, slices.Clone(s.Args)} }

// cannotRun is the error for a shell that is not there or cannot be executed, which is the host's mistake.
func (s Shell) cannotRun(err error) error {
	return &Error{Kind: ErrInternal, Field: "CommandOptions.Shell",
		Reason: fmt.Sprintf("the shell %q cannot be run: %s", s.Program, lookup.Reason(err)), Err: err}
}
