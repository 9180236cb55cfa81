//go:build !linux && !windows

package proc

import "errors"

// Members returns errors.ErrUnsupported.
func (t *Tree) Members() ([]Member, error) { return nil, errors.ErrUnsupported }
