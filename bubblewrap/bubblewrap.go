// Package bubblewrap runs commands in a sandbox of bubblewrap's (man 1 bwrap), on Linux: in namespaces of their own,
// where the machine's files are read-only, other processes are not seen, and no process has capabilities; with a filter
// of system calls.
//
//	sandbox, err := bubblewrap.New(nil)
//	m, err := acpterm.NewManager(&acpterm.Options{Sandbox: sandbox, RequireSessions: true})
//	err = m.OpenSession("s1", &acpterm.SessionOptions{Roots: []string{"/home/me/project"}})
//
// It imports acpterm and x/sys, and bwrap has to be installed.
package bubblewrap

import (
	"cmp"
	"context"
	"errors"

	"github.com/acpterm/acpterm"
)

// Options say what a sandboxed command may do beyond the least. The zero value, and nil in its place, is the
// least: no network, and nothing writable but the session's roots.
//
// Paths are absolute and exist; links in them are followed once, by New. Of two that concern a file the one
// that is closer to it counts: a root in a hidden directory is seen, and what is hidden in a root is not. Of the same
// path, Hidden comes before ReadOnly, that before Writable and the session's roots.
type Options struct {
	// Network lets commands use the machine's network: all of it, the services on 127.0.0.1 and abstract Unix sockets
	// too.
	Network bool
	// Writable are files and directories that commands may write to, such as a compiler's cache.
	Writable []string
	// ReadOnly are files and directories that commands may only read, in one that is writable or hidden.
	ReadOnly []string
	// Hidden are files and directories that commands find empty or cannot read, such as ~/.ssh. A command that may
	// write to the directory that such a path is in can move that directory, and then see what is in it from the next
	// command on.
	Hidden []string
	// NoSyscallFilter runs commands without the filter of system calls: they can then reach the hypervisor by AF_VSOCK,
	// and the user's keys. It is for commands that need what the filter refuses, and for systems that it cannot be had
	// on.
	NoSyscallFilter bool
}

// New returns a sandbox. A command in it
//
//   - reads all files that its user may read, but for what is in /run, /tmp, /dev and Hidden;
//   - writes to the session's roots and Writable, to nothing else. /tmp and /dev/shm are its own, empty at first and
//     lost in the end. Of a session without roots nothing is writable, not even the working directory;
//   - sees and signals no processes but its own, and has no capabilities, even if its user is root;
//   - has no network, not even 127.0.0.1 or abstract Unix sockets, unless Network is set. Unix sockets that are files
//     outside of /run and /tmp can be connected to: hide them;
//   - does not reach the hypervisor (AF_VSOCK), the keys of its user or the kernel's log, and has no io_uring, BPF,
//     performance counters, userfaultfd and user namespaces, unless NoSyscallFilter is set. Sockets are of the families
//     AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK only. A program of another architecture, such as one for i386 on amd64,
//     is ended by SIGSYS.
//
// When it ends, all that it left running is killed. One that a signal ended has the exit code 128 and the signal's
// number. PWD is always the working directory. Its name for itself, argv[0], is what was asked for where env can set
// that (GNU coreutils from 9.5 on); else it is a path, whose last part is right. Without GNU env commands are killed
// where they would be asked to end first.
//
// New fails, with ErrInvalidParams for a path in the options that cannot be used, and with ErrInternal if bwrap is not
// in PATH or cannot do all this here, which it tries: kernels may forbid users to make namespaces. On other
// architectures than amd64 and arm64, which there is no filter for, the error is errors.ErrUnsupported too. On other
// systems than Linux it fails with ErrInternal. Wrap fails, and nothing runs, if the program or the working directory
// is not in the sandbox, if a root is "/" or in /proc or /sys, and if there are more than some 8900 arguments and
// variables, a variable counting three times.
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

// Wrap returns the command's bwrap. It makes a Sandbox an acpterm.Sandbox.
func (s *Sandbox) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return s.wrap(p)
}

// internalError is for what is wrong with the host; reason may be empty.
func internalError(reason string, err error) *acpterm.Error {
	return &acpterm.Error{Kind: acpterm.ErrInternal, Reason: reason, Err: err}
}
