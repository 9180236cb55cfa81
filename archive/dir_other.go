//go:build !unix

package archive

import (
	"fmt"
	"os"
)

// keepFromOthers fails if dir is not a directory. On Windows, its parent's access control decides who may read it.
func keepFromOthers(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}
