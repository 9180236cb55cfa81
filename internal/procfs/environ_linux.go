package procfs

// The environment of a process, on Linux.

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrExecuting is returned by Handle.Variable if the process was in execve, or exiting, at every attempt.
var ErrExecuting = errors.New("the process is in execve")

// Variable returns a variable from the initial environment of the process's program, split at colons. It returns nil if
// the variable is not set. It fails if the process is gone (IsGone), its environment is not readable
// (fs.ErrPermission), or it is in execve (ErrExecuting), which briefly removes the environment and ends reads early.
func (h Handle) Variable(name string) ([]string, error) {
	const tries = 4
	for range tries {
		value, size, err := h.readVariable(name)
		switch {
		case value != "":
			return strings.Split(value, ":"), nil
		case err != nil && !IsGone(err):
			return nil, err
		}
		now, processErr := h.Process()
		switch {
		case processErr != nil:
			return nil, processErr
		case now.Exited:
			return nil, unix.ESRCH
		case now.Executing, err != nil, size == 0 && now.MainExited: // or about to exit: the environment goes first
			return nil, ErrExecuting
		case size == now.Environ, now.MainExited: // the whole environment was read
			return nil, nil
		}
	}
	return nil, ErrExecuting
}

// readVariable returns a variable of the environment, or "" if it is not set, and the number of bytes that it could
// read of the environment. During execve that number is smaller than Process.Environ, and briefly zero. readVariable
// fails if this process may not read the environment.
func (h Handle) readVariable(name string) (value string, size int, err error) {
	environ, err := h.environ("environ")
	if len(environ) == 0 { // the main thread may have exited; then it has none, and its files are root's
		environ, err = h.threadsEnviron(err)
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(name+"=")); ok {
			return string(value), len(environ), nil
		}
	}
	return "", len(environ), err
}

// environ reads a file to its end. It avoids the system calls of os.ReadFile that add a file to Go's poller.
func (h Handle) environ(path string) (data []byte, err error) {
	fd, err := open(h.dir, path, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data = make([]byte, 0, 4<<10)
	for n := 1; n > 0 && err == nil; data = data[:len(data)+max(n, 0)] {
		data = slices.Grow(data, 1<<9)
		n, err = retry(func() (int, error) { return unix.Read(fd, data[len(data):cap(data)]) })
	}
	return data, err
}

// threadsEnviron returns the first nonempty environment of a thread, or mainErr if no thread's is readable.
func (h Handle) threadsEnviron(mainErr error) ([]byte, error) {
	fd, err := open(h.dir, "task", unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	threads := os.NewFile(uintptr(fd), "task")
	defer threads.Close()
	names, err := threads.Readdirnames(-1)
	err = cmp.Or(err, mainErr)
	for _, name := range names {
		if environ, threadErr := h.environ("task/" + name + "/environ"); len(environ) > 0 {
			return environ, threadErr
		} else if threadErr == nil {
			err = nil
		}
	}
	return nil, err
}
