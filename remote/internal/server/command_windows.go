package server

// From a request to the Spec for internal/proc, on Windows.

import (
	"errors"

	"golang.org/x/sys/windows"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// setCommand sets the program or the shell line in a Spec that already has the arguments and the environment.
func setCommand(spec *proc.Spec, path, shellLine string) (err error) {
	if spec.Path, spec.CommandLine, err = lookup.CommandLine(path, spec.Args, shellLine); err != nil {
		return lookupError(err)
	}
	spec.Env = lookup.WithSystemRoot(spec.Env)
	return nil
}

// isExecFormat reports whether err means that a file is not a program for this system or this user.
func isExecFormat(err error) bool {
	return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) || errors.Is(err, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH) ||
		errors.Is(err, windows.ERROR_ELEVATION_REQUIRED)
}
