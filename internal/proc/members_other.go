//go:build !linux && !windows

package proc

import "errors"

// ListsMembers reports whether Members works on this system.
const ListsMembers = false

// Members returns errors.ErrUnsupported.
func (t *Tree) Members() ([]Member, error) { return nil, errors.ErrUnsupported }
