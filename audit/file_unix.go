//go:build unix

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFlags: links have been followed before, a FIFO does not wait for a reader, and a terminal does not become
// the host's.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY

// keepFromOthers takes all rights to the file from other users, and fails if they can get them back, or if the file
// has another name where commands may be able to write to it. It flushes the directory where that is possible, so that
// a new file survives a crash of the machine.
func keepFromOthers(file *os.File, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", file.Name())
	case stat.Nlink > 1:
		return fmt.Errorf("%s has another hard link", file.Name())
	}
	if info.Mode().Perm() != 0o600 {
		if err := file.Chmod(0o600); err != nil {
			return err
		}
	}
	if dir, err := os.Open(filepath.Dir(file.Name())); err == nil {
		dir.Sync() // some file systems have no such thing
		dir.Close()
	}
	return nil
}
