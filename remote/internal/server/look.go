package server

// From a request to a command: checks the directory and looks up the program.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// newHello returns the first message.
func newHello() (*frame.Hello, error) {
	dir, err := os.UserHomeDir()
	if err != nil || checkDir(dir) != nil {
		if dir, err = lookup.HostDir(); err != nil {
			return nil, fmt.Errorf("there is neither a home directory nor a working directory: %w", err)
		}
	}
	return &frame.Hello{
		Version: frame.Version, System: runtime.GOOS, Arch: runtime.GOARCH,
		Dir: frame.Bytes(dir), Env: frame.Texts(lookup.HostEnviron()),
	}, nil
}

// realDir answers a request to resolve the symbolic links of a directory.
func (s *server) realDir(r *frame.RealDir) (frame.Reply, error) {
	if !filepath.IsAbs(string(r.Dir)) {
		return frame.Reply{}, invalidField("", "must be an absolute path")
	}
	dir, err := filepath.EvalSymlinks(string(r.Dir))
	if err != nil {
		return frame.Reply{}, fieldError("", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return frame.Reply{}, invalidField("", "not a directory")
	}
	return frame.Reply{Dir: frame.Bytes(dir)}, nil
}

// look answers a request for a command's program and directory.
func (s *server) look(r *frame.Command) (frame.Reply, error) {
	if err := checkTexts(r); err != nil {
		return frame.Reply{}, err
	}
	dir, err := s.workingDir(r)
	if err == nil {
		err = checkDir(dir)
	}
	if err != nil {
		return frame.Reply{}, err
	}
	found, err := program(r, dir)
	if err != nil {
		return frame.Reply{}, err
	}
	// A shell that looks up the same name would run another program than the one found here.
	if _, err := lookup.Resolve(found); errors.Is(err, lookup.ErrProcLink) {
		return frame.Reply{}, &failure{kind: notExecutable, field: "command",
			reason: "leads through a link in /proc, which is another one for each process"}
	}
	path, err := filepath.EvalSymlinks(found)
	if err != nil {
		return frame.Reply{}, &failure{kind: commandNotFound, err: err}
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return frame.Reply{}, fieldError("cwd", err)
	}
	pin, err := newPin(path, dir)
	if err != nil {
		return frame.Reply{}, err
	}
	return frame.Reply{Found: &frame.Found{
		Path: frame.Bytes(path), Name: frame.Bytes(filepath.Base(found)), Dir: frame.Bytes(dir), Pin: pin,
	}}, nil
}

// program finds the file that a command names, or the system's shell.
func program(r *frame.Command, dir string) (string, error) {
	if len(r.Shell) > 0 && string(r.Args[0]) == "sh" {
		path, _, err := lookup.Shell(string(r.Shell))
		if err != nil {
			return "", lookupError(err)
		}
		return path, nil
	}
	path, err := lookup.Program(string(r.Args[0]), dir, frame.Strings(r.Env))
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", &failure{kind: commandNotFound}
	}
	reason := "cannot be executed: " + lookup.Reason(err)
	return "", &failure{kind: notExecutable, field: "command", reason: reason}
}

// workingDir returns the directory of a command. The directory for commands that name none has no symbolic links.
func (s *server) workingDir(r *frame.Command) (string, error) {
	if len(r.Dir) > 0 {
		return string(r.Dir), nil
	}
	dir, err := filepath.EvalSymlinks(s.dir)
	if err != nil {
		return "", fieldError("cwd", err)
	}
	return dir, nil
}

// checkDir fails if a command cannot run in dir.
func checkDir(dir string) error {
	switch {
	case strings.IndexByte(dir, 0) >= 0:
		return invalidField("cwd", "must not contain NUL")
	case !filepath.IsAbs(dir):
		return invalidField("cwd", "must be an absolute path")
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fieldError("cwd", err)
	case !info.IsDir():
		return invalidField("cwd", "not a directory")
	}
	if err := lookup.MayEnter(dir); err != nil {
		return fieldError("cwd", err)
	}
	return nil
}

// checkTexts rejects texts that no system call accepts.
func checkTexts(r *frame.Command) error {
	const reason = "must not contain NUL"
	switch {
	case len(r.Args) == 0 || len(r.Args[0]) == 0:
		return invalidField("command", "must not be empty")
	case hasNUL(r.Args[0]) || hasNUL(r.Shell) || hasNUL(r.Path):
		return invalidField("command", reason)
	}
	for i, arg := range r.Args[1:] {
		if hasNUL(arg) {
			return invalidField(fmt.Sprintf("args[%d]", i), reason)
		}
	}
	for i, variable := range r.Env {
		if hasNUL(variable) {
			return invalidField(fmt.Sprintf("env[%d]", i), reason)
		}
	}
	return nil
}

func hasNUL(text frame.Bytes) bool { return strings.IndexByte(string(text), 0) >= 0 }
