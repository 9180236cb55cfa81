//go:build !linux

package journal

// The end of trees whose host died, on systems other than Linux: there is nothing to end, or no way to.

import (
	"context"
	"errors"
	"runtime"
)

// endTrees ends nothing. On Windows a tree ends with its host, whose job object it is in; elsewhere its processes
// cannot be told from others, and err says errors.ErrUnsupported.
func endTrees(_ context.Context, trees []*tree) {
	if runtime.GOOS == "windows" {
		return
	}
	for _, t := range trees {
		t.err = errors.ErrUnsupported
	}
}
