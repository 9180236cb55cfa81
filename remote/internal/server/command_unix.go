//go:build unix

package server

// From a request to what internal/proc starts, on Unix.

import (
	"errors"
	"syscall"

	"github.com/acpterm/acpterm/internal/proc"
)

// setCommand puts a program into a Spec that has the arguments, which are also those of a shell line.
func setCommand(spec *proc.Spec, path, _ string) error {
	spec.Path = path
	return nil
}

func isExecFormat(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
