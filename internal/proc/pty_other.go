//go:build !linux && !darwin && !freebsd && !windows

package proc

import "errors"

// pty is never created.
type pty struct{}

func (*pty) write([]byte) (int, error) { return 0, errors.ErrUnsupported }
func (*pty) resize(Size) error         { return errors.ErrUnsupported }
