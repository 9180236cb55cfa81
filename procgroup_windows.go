package acpterm

// The parts of a start that depend on the system, for Windows. No process leaves the job object of its command.

import (
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// hasSessions indicates that a process can leave its command's session.
const hasSessions = false

// setCommand sets the command of a Spec.
func setCommand(spec *proc.Spec, c Command) error {
	path, line, err := lookup.CommandLine(c.Path, c.Args, c.ShellLine)
	if err != nil {
		return lookupError(err)
	}
	spec.Path, spec.Args, spec.CommandLine = path, c.Args, line
	spec.Env, spec.Dir = lookup.WithSystemRoot(c.Env), c.Dir
	return nil
}
