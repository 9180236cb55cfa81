// Package bubblewrap sandboxes commands on Linux, using bubblewrap (man 1 bwrap). Each command runs in its own
// namespaces, where the machine's files are read-only, other processes are invisible, and no process has any
// capabilities. A filter restricts system calls.
//
//	sandbox, err := bubblewrap.New(nil)
//	m, err := acpterm.NewManager(&acpterm.Options{
//		RequireSessions: true, Commands: acpterm.CommandOptions{Sandbox: sandbox},
//	})
//	err = m.OpenSession("s1", &acpterm.SessionOptions{Roots: []string{"/home/me/project"}})
//
// The program bwrap must be installed.
package bubblewrap

import (
	"cmp"
	"context"
	"errors"

	"github.com/acpterm/acpterm"
)

// Options relax or tighten a sandbox. With the zero value or a nil pointer, commands have no network access and can
// write only to the session's roots.
//
// All paths must be absolute and exist. New resolves their symbolic links once. If several paths apply to a file, the
// innermost wins, so a root in a hidden directory is visible, but a hidden directory in a root is not. If the same path
// is listed more than once, Hidden takes precedence over ReadOnly, and ReadOnly over Writable and the roots.
type Options struct {
	// Network gives commands unrestricted access to the machine's network, including services on 127.0.0.1 and abstract
	// Unix sockets.
	Network bool
	// Writable lists files and directories that commands may write to, for example a compiler's cache.
	Writable []string
	// ReadOnly lists files and directories to make read-only although they are within writable or hidden directories.
	ReadOnly []string
	// Hidden lists files and directories that appear empty or unreadable to commands, such as ~/.ssh. Note that a
	// command that can write to the parent of such a directory can move it, which exposes its contents to subsequent
	// commands.
	Hidden []string
	// NoSyscallFilter disables the system call filter, which gives commands access to the hypervisor (AF_VSOCK) and the
	// user's keys. Set it only if a command needs a refused call or the system does not support the filter.
	NoSyscallFilter bool
}

// New returns a Sandbox. A command running in it
//
//   - can read any file that its user can read, except for those in /run, /tmp, /dev and Hidden;
//   - can write only to the session's roots and to Writable. Its /tmp and /dev/shm are private, initially empty, and
//     removed when it ends. If the session has no roots, nothing is writable, not even the working directory;
//   - can see and signal only its own processes, and has no capabilities, even if its user is root;
//   - has no network access, not even to 127.0.0.1 or abstract Unix sockets, unless Network is set. It can still
//     connect to Unix sockets in the file system outside /run and /tmp, unless they are hidden;
//   - cannot reach the hypervisor (AF_VSOCK), its user's keys or the kernel's log, and cannot use io_uring, BPF,
//     performance counters, userfaultfd or user namespaces, unless NoSyscallFilter is set. Its sockets are limited to
//     the families AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. A program for another architecture, such as i386 on
//     amd64, is killed by SIGSYS.
//
// When the command exits, all its remaining processes are killed. If it was killed by a signal, its exit code is 128
// plus the signal's number. PWD is always set to the working directory. argv[0] is the requested name if env can set it
// (GNU coreutils 9.5 and later); otherwise, it is a path ending in that name. Without GNU env, commands are killed
// immediately instead of being shut down gracefully.
//
// New returns ErrInvalidParams if a path in options cannot be used, and ErrInternal if bwrap is not in PATH or does not
// work on this machine. New tries it out, because some kernels do not let users create namespaces. The filter is
// available only on amd64 and arm64. On other architectures, the error is also errors.ErrUnsupported. On systems other
// than Linux, New always returns ErrInternal. Wrap fails, and nothing runs, if the program or the working directory is
// not in the sandbox, if a root is "/" or in /proc or /sys, or if there are more than about 8900 arguments and
// variables, counting each variable as three.
func New(options *Options) (*Sandbox, error) {
	s, err := newSandbox(*cmp.Or(options, new(Options)))
	if err == nil {
		return s, nil
	}
	if e, ok := errors.AsType[*acpterm.Error](err); ok {
		e.Op = "bubblewrap"
	}
	return nil, err
}

// Wrap implements acpterm.Sandbox. It returns a bwrap command that runs p's command.
func (s *Sandbox) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return s.wrap(p)
}

// internalError returns an error of the host; reason may be empty.
func internalError(reason string, err error) *acpterm.Error {
	return &acpterm.Error{Kind: acpterm.ErrInternal, Reason: reason, Err: err}
}
