//go:build unix

package acpterm

// The parts of a start that depend on the system, for Unix. A process can leave the session of its command.

import "github.com/acpterm/acpterm/internal/proc"

// hasSessions indicates that a process can leave its command's session.
const hasSessions = true

// setCommand sets the command of a Spec.
func setCommand(spec *proc.Spec, c Command) error {
	spec.Path, spec.Args, spec.Env, spec.Dir = c.Path, c.Args, c.Env, c.Dir
	return nil
}
