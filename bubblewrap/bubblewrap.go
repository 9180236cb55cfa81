// Package bubblewrap sandboxes commands on Linux using bubblewrap (man 1 bwrap). Each command runs in its own
// namespaces, where the machine's files are read-only, other processes are not visible, and no process has any
// capabilities. In addition, a filter restricts the system calls that a command can make.
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

// Options specifies how a sandbox is relaxed or tightened. If Options is zero or nil, commands have no network access
// and can only write to the session's roots.
//
// All paths must be absolute and must exist. New resolves any symbolic links in the paths once. If several paths apply
// to a file, the innermost path takes precedence, so a root inside a hidden directory is visible, but a hidden
// directory inside a root is not. If the same path is listed more than once, Hidden takes precedence over ReadOnly, and
// ReadOnly takes precedence over Writable and the roots.
type Options struct {
	// Network gives commands unrestricted access to the machine's network, including services on 127.0.0.1 and abstract
	// Unix sockets.
	Network bool
	// Writable lists files and directories that commands may write to, such as a compiler's cache.
	Writable []string
	// ReadOnly lists files and directories to make read-only even if they are inside writable or hidden directories.
	ReadOnly []string
	// Hidden lists files and directories that appear empty or unreadable to commands, such as ~/.ssh. Note that if a
	// command can write to the parent of a hidden directory, it can move the directory, which exposes the directory's
	// contents to subsequent commands.
	Hidden []string
	// NoSyscallFilter disables the system call filter. Without the filter, commands have access to the hypervisor
	// (AF_VSOCK) and the user's keys. Set NoSyscallFilter only if a command needs a system call that the filter
	// rejects, or if the system does not support the filter.
	NoSyscallFilter bool
}

// New returns a Sandbox. A command that runs in the Sandbox
//
//   - can read any file that its user can read, except for those in /run, /tmp, /dev and Hidden;
//   - can write only to the session's roots and to Writable. Its /tmp and /dev/shm are private, initially empty, and
//     removed when the command exits. If the session has no roots, nothing is writable, not even the working directory;
//   - can see and signal only its own processes, and does not have any capabilities, even if its user is root;
//   - does not have network access, not even to 127.0.0.1 or abstract Unix sockets, unless Network is set. It can still
//     connect to Unix sockets in the file system outside /run and /tmp, unless they are hidden;
//   - cannot reach the hypervisor (AF_VSOCK), its user's keys or the kernel's log, and cannot use io_uring, BPF,
//     performance counters, userfaultfd or user namespaces, unless NoSyscallFilter is set. Its sockets are limited to
//     the families AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. A program for another architecture, such as i386 on
//     amd64, is killed by SIGSYS.
//
// When the command exits, any processes that it has left running are killed. If the command was killed by a signal, its
// exit code is 128 plus the number of the signal. PWD is always set to the working directory. If env supports setting
// argv[0] (GNU coreutils 9.5 and later), argv[0] is the requested name; otherwise, it is a path that ends in that name.
// If GNU env is not available, commands are killed immediately instead of being shut down gracefully.
//
// New returns ErrInvalidParams if one of the paths in options cannot be used. It returns ErrInternal if bwrap is not in
// PATH or does not work on this machine. To find out whether bwrap works, New runs it, since some kernels do not let
// users create namespaces. The filter is available only on amd64 and arm64. On other architectures, the error also
// matches errors.ErrUnsupported. On systems other than Linux, New always returns ErrInternal.
//
// Wrap returns an error, and nothing is run, if the program or the working directory is not in the sandbox, or if a
// root is "/" or is in /proc or /sys. Wrap also returns an error if there are more than about 8900 arguments and
// variables, where each variable counts as three arguments.
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
