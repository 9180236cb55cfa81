//go:build unix

package acpterm

// What differs between systems when a command is looked up: here, the Unixes.

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// envKey is what makes two names of variables the same.
func envKey(name string) string { return name }

// hostEnviron is this process's environment, each name once. Go sees to that (syscall.Environ).
func hostEnviron() []string { return os.Environ() }

// namesPath reports whether a command is a path and so is not looked up in PATH.
func namesPath(command string) bool { return strings.Contains(command, "/") }

// joinPath is path as it is if it is absolute, and else path in dir. ".." stays: behind a link it is the parent of what
// the link leads to.
func joinPath(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case path == "" || path == ".":
		return dir
	}
	return strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(path, "./")
}

// findExecutable returns path if it is a file that this process may execute.
func findExecutable(path string, _ []string) (string, error) {
	var status unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Stat(path, &status) })
	switch {
	case err == unix.ENOTDIR: // a file where PATH or the command has a directory
		return "", fs.ErrNotExist
	case err != nil:
		return "", err
	case status.Mode&unix.S_IFMT == unix.S_IFDIR:
		return "", syscall.EISDIR
	}
	return path, unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// mayEnter fails if this process may not use a directory as its working directory.
func mayEnter(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS)
}

// systemShell is how the system runs a line.
func systemShell(line string, _ []string) (path string, args []string, err error) {
	return "/bin/sh", []string{"sh", "-c", line}, nil
}
