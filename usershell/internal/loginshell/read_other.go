//go:build !linux && !darwin && !freebsd && !windows

package loginshell

// Systems where a shell cannot be started.

import (
	"context"
	"errors"
)

// Read fails on this system.
func Read(context.Context, Spec) ([]string, error) {
	return nil, &Error{Reason: NotStarted, Err: errors.ErrUnsupported}
}

// Locate returns spec.
func Locate(spec Spec) Spec { return spec }
