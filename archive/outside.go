package archive

// The check that commands cannot write to the directory.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// checkOutside fails if an absolute path is one of the roots or below one, before or after links are resolved. Its last
// elements may be missing.
func checkOutside(path string, roots []string) error {
	for {
		if _, err := os.Lstat(path); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return err
		}
		path = filepath.Dir(path)
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, root := range roots {
		wanted, err := os.Stat(root)
		if err != nil {
			return err
		}
		for _, name := range []string{path, resolved} { // commands can change a link in a root
			for at := name; ; at = filepath.Dir(at) {
				info, err := os.Stat(at)
				if err != nil {
					return err
				}
				if os.SameFile(info, wanted) {
					return fmt.Errorf("%s is in %s, where commands may write: choose another directory", name, root)
				}
				if at == filepath.Dir(at) {
					break
				}
			}
		}
	}
	return nil
}
