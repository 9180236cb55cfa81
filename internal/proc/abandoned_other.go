//go:build !linux

package proc

import (
	"context"
	"errors"
	"runtime"
)

// EndAbandoned ends nothing. On Windows a tree ends with its host, whose job object it is in; elsewhere its processes
// cannot be told from others, and Err says errors.ErrUnsupported.
func EndAbandoned(_ context.Context, all []*Abandoned, _ ...Step) {
	if runtime.GOOS == "windows" {
		return
	}
	for _, a := range all {
		a.Err = errors.ErrUnsupported
	}
}
