//go:build unix

package server

// From a request to the Spec for internal/proc, on Unix.

import (
	"errors"
	"syscall"

	"github.com/acpterm/acpterm/internal/proc"
)

// setCommand sets the program in a Spec that already has the arguments, also for a shell line.
func setCommand(spec *proc.Spec, path, _ string) error {
	spec.Path = path
	return nil
}

func isExecFormat(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
