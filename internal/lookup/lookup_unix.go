//go:build unix

package lookup

// The differences on Unix: names of variables, paths, permissions, the shell.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Key returns the key of a variable name. Names with the same key are the same variable.
func Key(name string) string { return name }

// HostEnviron returns the environment of this process, with each name once. Go ensures that (syscall.Environ).
func HostEnviron() []string { return os.Environ() }

// NamesPath reports whether a command is a path, which is not looked up in PATH.
func NamesPath(command string) bool { return strings.Contains(command, "/") }

// joinPath returns path if it is absolute, and otherwise path in dir. It keeps "..": behind a symbolic link, that is
// the parent of the link's target.
func joinPath(dir, path string) string {
	switch {
	case filepath.IsAbs(path):
		return path
	case path == "" || path == ".":
		return dir
	}
	return strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(path, "./")
}

// Executable returns path if this process may execute the file. If it may not execute the file, or path is a directory,
// it returns path and an error. If it cannot examine the path, it returns only an error.
func Executable(path string, _ []string) (string, error) {
	var status unix.Stat_t
	err := unix.Stat(path, &status)
	for err == unix.EINTR {
		err = unix.Stat(path, &status)
	}
	switch {
	case err == unix.ENOTDIR, // a file where PATH or the command has a directory
		err == unix.ENAMETOOLONG: // a shell line
		return "", fs.ErrNotExist
	case err != nil:
		return "", err
	case status.Mode&unix.S_IFMT == unix.S_IFDIR:
		return path, syscall.EISDIR
	}
	return path, unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

// MayEnter fails if this process may not use a directory as its working directory.
func MayEnter(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS)
}

// IsExecFormat reports whether the error means that a file is not a program.
func IsExecFormat(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

// Shell returns the system's command for running a line.
func Shell(line string) (path string, args []string, err error) {
	return "/bin/sh", []string{"sh", "-c", line}, nil
}

// interpreterExtensions is the environment passed to Executable to find an interpreter.
var interpreterExtensions []string

// interpreterDirs returns the directories of PATH to search for an interpreter.
func interpreterDirs(_ string, path []string) []string { return path }

// RefusedShell returns the reason why a host's shell cannot run lines, or "".
func RefusedShell(string, []string) string { return "" }

// CheckLine accepts any line.
func CheckLine(string, []string) error { return nil }
