package acpterm

// From a Command to what internal/proc starts, on Windows.

import (
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// hasSessions indicates that a process can leave its command's session: a job object is not left.
const hasSessions = false

func setCommand(spec *proc.Spec, c Command) error {
	path, line, err := lookup.CommandLine(c.Path, c.Args, c.ShellLine)
	if err != nil {
		return lookupError(err)
	}
	spec.Path, spec.Args, spec.CommandLine = path, c.Args, line
	spec.Env, spec.Dir = lookup.WithSystemRoot(c.Env), c.Dir
	return nil
}
