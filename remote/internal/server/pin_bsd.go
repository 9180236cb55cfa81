//go:build darwin || freebsd

package server

// The parts of a pin on macOS and FreeBSD.

import (
	"fmt"
	"os"
	"syscall"
)

// identify returns the identity of a file.
func identify(path string) (identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}, fmt.Errorf("no inode is known: %T", info.Sys())
	}
	return identity{
		inode: fmt.Sprint(s.Dev, ":", s.Ino), size: s.Size, modified: fmt.Sprint(s.Mtimespec.Unix()),
		changed: fmt.Sprint(s.Ctimespec.Unix()), born: fmt.Sprint(s.Birthtimespec.Unix()),
	}, nil
}
