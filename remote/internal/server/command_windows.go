package server

// From a request to what internal/proc starts, on Windows.

import (
	"errors"

	"golang.org/x/sys/windows"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// setCommand puts a program, or a shell line, into a Spec that has the arguments and the environment.
func setCommand(spec *proc.Spec, path, shellLine string) (err error) {
	if spec.Path, spec.CommandLine, err = lookup.CommandLine(path, spec.Args, shellLine); err != nil {
		return lookupError(err)
	}
	spec.Env = lookup.WithSystemRoot(spec.Env)
	return nil
}

// isExecFormat reports that a file is no program that this system runs, or not for this user.
func isExecFormat(err error) bool {
	return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) || errors.Is(err, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH) ||
		errors.Is(err, windows.ERROR_ELEVATION_REQUIRED)
}
