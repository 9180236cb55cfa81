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

// openFlags refuse a symbolic link, since links are already resolved. A FIFO must not wait for a reader, and a terminal
// must not become the host's controlling terminal.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY

// keepFromOthers takes all rights to the file from other users. It fails if they can get them back, or if the file has
// another name where commands might be able to write to it. It flushes the directory where possible, so that a new file
// survives a crash of the machine.
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
		dir.Sync() // some file systems do not support it
		dir.Close()
	}
	return nil
}
