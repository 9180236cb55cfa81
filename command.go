package acpterm

// Commands, and the shells that run lines. create.go resolves a request to a command.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
)

// A Command is a command to run, with its program, directory and environment already resolved.
type Command struct {
	// Path is the absolute path of the executable.
	Path string
	// Args holds command line arguments, including the name of the program as Args[0], as in exec.Cmd.
	Args []string
	// Dir is the absolute path of the working directory, or empty if Options.Runner chooses the directory.
	Dir string
	// Env is the complete environment of the command, as NAME=value pairs without duplicates. It may contain secrets.
	Env []string
	// ShellLine is the line passed to the shell as its last argument. It is empty if the command does not use a shell.
	ShellLine string
}

// clone returns a copy that shares nothing with c.
func (c Command) clone() Command {
	c.Args, c.Env = slices.Clone(c.Args), slices.Clone(c.Env)
	return c
}

// withArgs returns c with its path as the only argument if it has none, as in os/exec.
func (c Command) withArgs() Command {
	if len(c.Args) == 0 {
		c.Args = []string{c.Path}
	}
	return c
}

// String returns the shell line. If the command does not use a shell, it returns the arguments, quoted where necessary.
// Since the text comes from the agent, pass it to display.Visible before printing it.
func (c Command) String() string {
	if c.ShellLine != "" {
		return c.ShellLine
	}
	words := slices.Clone(c.Args)
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, shellSyntax) {
			words[i] = fmt.Sprintf("%q", word)
		}
	}
	return strings.Join(words, " ")
}

// A Shell runs shell lines. The line is passed to the shell as its last argument. The zero value is the system's shell:
// /bin/sh -c or, on Windows, cmd.exe /d /s /c from the system directory. For common shells, see usershell.KnownShell.
// The exit code of a line is the one returned by the shell. Note that PowerShell, when run with -Command, exits with 1
// if the program's exit code is nonzero, unless the line ends with "exit $LASTEXITCODE".
type Shell struct {
	// Program is the name or absolute path of the shell. A name is looked up for every command using the PATH in
	// CommandOptions.Env (never the agent's own PATH), ignoring relative entries. If Options.Runner is set, the lookup
	// happens where the Runner runs commands. On Windows, a name refers to an .exe file, "cmd" refers to the system's
	// own, and "bash" never refers to the WSL launcher. If empty, the system's shell is used, and Args must be empty.
	Program string
	// Args specifies the arguments that precede the shell line. The last one introduces the line and is "-c" for most
	// shells. Since cmd.exe receives the line unescaped, its Args must include "/s" and end with "/c".
	Args []string
}

// validate returns an error if the shell, the value of an option, is invalid. isPath and isAbs describe Program where
// commands run.
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

// cannotRun returns the error for a missing or unusable shell: the host's mistake.
func (s Shell) cannotRun(err error) error {
	return &Error{Kind: ErrInternal, Field: "CommandOptions.Shell",
		Reason: fmt.Sprintf("the shell %q cannot be run: %s", s.Program, lookup.Reason(err)), Err: err}
}

// A ShellMode determines whether the command of a request is a line for CommandOptions.Shell or the name of a program.
// Commands with arguments are never treated as shell lines.
type ShellMode int

const (
	// ShellAuto uses the shell if the command contains white space or shell syntax, unless a program of exactly that
	// name exists. This is useful because agents send commands such as "npm test && git diff" without arguments.
	ShellAuto ShellMode = iota
	// ShellNever never uses the shell.
	ShellNever
	// ShellAlways uses the shell for every command without arguments.
	ShellAlways
)

// shellSyntax are the characters of shell lines: white space, and those with a meaning to a shell.
const shellSyntax = " \t\r\n|&;<>()$`\\\"'*?[]#~=%!{}^"

func hasNUL(s string) bool { return strings.IndexByte(s, 0) >= 0 }
