//go:build !linux

package journal

// Ending the trees of dead hosts, on systems other than Linux. It is either unnecessary or impossible.

import (
	"context"
	"errors"
	"runtime"
)

// endTrees ends nothing. On Windows a tree ends with its host, whose job object contains it. On other systems its
// processes cannot be identified, and err is errors.ErrUnsupported.
func endTrees(_ context.Context, trees []*tree) {
	if runtime.GOOS == "windows" {
		return
	}
	for _, t := range trees {
		t.err = errors.ErrUnsupported
	}
}
