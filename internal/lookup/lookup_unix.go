//go:build unix

package lookup

// What differs on Unix: names of variables, paths, permissions, the shell.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Key is what makes two names of variables the same.
func Key(name string) string { return name }

// HostEnviron is this process's environment, each name once. Go sees to that (syscall.Environ).
func HostEnviron() []string { return os.Environ() }

// NamesPath reports whether a command is a path and so is not looked up in PATH.
func NamesPath(command string) bool { return strings.Contains(command, "/") }

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

// Executable returns path if this process may execute the file. For a file or directory that it may not execute it
// returns path and an error, for a path that it cannot look at only an error.
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

// IsExecFormat reports that a file is not a program.
func IsExecFormat(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

// Shell is how the system runs a line.
func Shell(line string) (path string, args []string, err error) {
	return "/bin/sh", []string{"sh", "-c", line}, nil
}

// interpreterExtensions is the environment for Executable to look for an interpreter with.
var interpreterExtensions []string

// interpreterDirs are the directories to look for an interpreter in, of those in PATH.
func interpreterDirs(_ string, path []string) []string { return path }

// GitBash fails: there is no Git for Windows.
func GitBash([]string) (string, error) { return "", fs.ErrNotExist }

// RefusedShell returns why a host's shell cannot run lines, or "".
func RefusedShell(string, []string) string { return "" }

// CheckLine accepts any line.
func CheckLine(string, []string) error { return nil }
