// Package bubblewrap runs commands in a sandbox of bubblewrap (man 1 bwrap), on Linux. Commands run in their own
// namespaces, where the machine's files are read-only, other processes are invisible, and no process has capabilities.
// A filter restricts their system calls.
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

// Options configure what a sandboxed command may do in addition to the minimum. The zero value, like a nil *Options, is
// the minimum: no network, and only the session's roots are writable.
//
// Paths must be absolute and exist. New resolves their symbolic links once. If two paths apply to a file, the innermost
// one counts: a root in a hidden directory is visible, and a hidden directory in a root is not. For the same path,
// Hidden takes precedence over ReadOnly, and ReadOnly over Writable and the session's roots.
type Options struct {
	// Network lets commands use the machine's whole network, including the services on 127.0.0.1 and abstract Unix
	// sockets.
	Network bool
	// Writable lists files and directories that commands may write to, such as a compiler's cache.
	Writable []string
	// ReadOnly lists files and directories inside writable or hidden ones that commands may only read.
	ReadOnly []string
	// Hidden lists files and directories that commands find empty or cannot read, such as ~/.ssh. A command that may
	// write to the parent directory of such a path can move that directory, and commands after it can then see the
	// content.
	Hidden []string
	// NoSyscallFilter runs commands without the filter of system calls. They can then reach the hypervisor through
	// AF_VSOCK, and the user's keys. Set it for commands that need a refused call, and on systems without support for
	// the filter.
	NoSyscallFilter bool
}

// New returns a sandbox. A command in it
//
//   - reads all files that its user may read, except for those in /run, /tmp, /dev and Hidden;
//   - writes only to the session's roots and to Writable. Its /tmp and /dev/shm are private, empty at first, and
//     removed at the end. In a session without roots nothing is writable, not even the working directory;
//   - sees and signals only its own processes, and has no capabilities, even if its user is root;
//   - has no network, not even 127.0.0.1 or abstract Unix sockets, unless Network is set. It can connect to Unix
//     sockets that are files outside /run and /tmp: hide those;
//   - cannot reach the hypervisor (AF_VSOCK), the keys of its user or the kernel's log, and cannot use io_uring, BPF,
//     performance counters, userfaultfd and user namespaces, unless NoSyscallFilter is set. Its sockets are limited to
//     the families AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. A program of another architecture, such as i386 on amd64,
//     ends with SIGSYS.
//
// When the command ends, all its remaining processes are killed. The exit code of a command that a signal ended is 128
// plus the signal's number. PWD is always the working directory. argv[0] is the requested name if env can set it (GNU
// coreutils 9.5 and later); otherwise it is a path with the right last element. Without GNU env, commands are killed at
// once instead of being asked to end first.
//
// New returns ErrInvalidParams if a path in the options cannot be used, and ErrInternal if bwrap is not in PATH
// or does not work on this machine. New tries it, since kernels may forbid users to create namespaces. A filter exists
// only for amd64 and arm64; on other architectures the error is also errors.ErrUnsupported. On systems other than
// Linux, New returns ErrInternal. Wrap fails, and nothing runs, if the program or the working directory is not in
// the sandbox, if a root is "/" or in /proc or /sys, and if there are more than about 8900 arguments and variables,
// where a variable counts three times.
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

// Wrap returns the bwrap command that runs the command of p. It implements acpterm.Sandbox.
func (s *Sandbox) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return s.wrap(p)
}

// internalError returns an error of the host; reason may be empty.
func internalError(reason string, err error) *acpterm.Error {
	return &acpterm.Error{Kind: acpterm.ErrInternal, Reason: reason, Err: err}
}
