//go:build unix

package archive

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// keepFromOthers fails if other users may access the directory.
func keepFromOthers(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return errors.ErrUnsupported
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to other users (mode %o): choose a directory of its own", dir, info.Mode().Perm())
	}
	return nil
}
