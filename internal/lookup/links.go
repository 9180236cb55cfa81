package lookup

// Symbolic links in a path.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is the maximum number of links in a path, as in Linux.
const maxLinks = 40

// ErrProcLink is returned for a path through a symbolic link in /proc, which differs for each process.
var ErrProcLink = errors.New("a link in /proc")

var errTooManyLinks = errors.New("too many links")

// Resolve resolves the symbolic links in an absolute path as the system does when it opens the file: ".." is the parent
// of the directory that the preceding names lead to. The last name need not exist. It may return ErrProcLink.
func Resolve(path string) (string, error) {
	real, links := "/", 0
	names := strings.Split(path, "/")
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(names) == 0:
			return next, nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink == 0:
			real = next
			continue
		case Within(next, "/proc"):
			return "", ErrProcLink
		}
		if links++; links > maxLinks {
			return "", errTooManyLinks
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(target, "/") {
			real = "/"
		}
		names = append(strings.Split(target, "/"), names...)
	}
	return real, nil
}
