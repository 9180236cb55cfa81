//go:build unix

package acpterm

// From a Command to what internal/proc starts, on Unix.

import "github.com/acpterm/acpterm/internal/proc"

// hasSessions indicates that a process can leave its command's session.
const hasSessions = true

func setCommand(spec *proc.Spec, c Command) error {
	spec.Path, spec.Args, spec.Env, spec.Dir = c.Path, c.Args, c.Env, c.Dir
	return nil
}
