package acpterm

// Sandboxes: what rewrites a command just before it starts, after it was allowed. The one that is ready to use is
// bubblewrap's, on Linux (internal/bwrap).

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/acpterm/acpterm/internal/bwrap"
)

// Wrapper rewrites a command just before it is started, after the policy has allowed it, so that it runs in something
// that confines it. It must be safe for concurrent use. When it fails, nothing runs and the create fails.
type Wrapper interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped is what is started in a command's place.
type Wrapped struct {
	// Command is what is started: its Path, Args, Dir and Env. What confines runs outside of what it confines: Env must
	// have nothing of the command's environment that a program heeds (LD_PRELOAD), nor Args any secret.
	Command Command
	// Files are inherited as descriptors 3, 4 and so on. The manager closes them after the start. None on Windows.
	Files []*os.File
	// PIDNamespace says that Command runs the allowed command in a Linux PID namespace of its own, whose first process
	// ends when the started process does: the kernel then ends everything that ran in the namespace. A process outside
	// of it is then no part of the command's tree because it holds the command's output, which the command can hand to any
	// process that it can reach. False, the default, makes no such promise.
	PIDNamespace bool
}

// BubblewrapOptions say what a sandboxed command may do beyond the least. The zero value, and nil in its place, is the
// least: no network, and nothing writable but the session's roots.
//
// Paths are absolute and exist; links in them are followed once, by NewBubblewrap. Of two that concern a file the one
// that is closer to it counts: a root in a hidden directory is seen, and what is hidden in a root is not. Of the same
// path, Hidden comes before ReadOnly, that before Writable and the session's roots.
type BubblewrapOptions struct {
	// Network lets commands use the machine's network: all of it, the services on 127.0.0.1 and abstract Unix sockets too.
	Network bool
	// Writable are files and directories that commands may write to, such as a compiler's cache.
	Writable []string
	// ReadOnly are files and directories that commands may only read, in one that is writable or hidden.
	ReadOnly []string
	// Hidden are files and directories that commands find empty or cannot read, such as ~/.ssh. A command that may write to
	// the directory that such a path is in can move that directory, and then see what is in it from the next command on.
	Hidden []string
	// NoSyscallFilter runs commands without the filter of system calls: they can then reach the hypervisor by AF_VSOCK, and
	// the user's keys. It is for commands that need what the filter refuses, and for systems that it cannot be had on.
	NoSyscallFilter bool
}

// NewBubblewrap returns a wrapper that runs commands with bubblewrap. It is safe for concurrent use. Such a command
//
//   - reads all files that its user may read, but for what is in /run, /tmp, /dev and Hidden;
//   - writes to the session's roots and Writable, to nothing else. /tmp and /dev/shm are its own, empty at first and lost
//     in the end. Of a session without roots nothing is writable, not even the working directory;
//   - sees and signals no processes but its own, and has no capabilities, even if its user is root;
//   - has no network, not even 127.0.0.1 or abstract Unix sockets, unless Network is set. Unix sockets that are files
//     outside of /run and /tmp can be connected to: hide them;
//   - does not reach the hypervisor (AF_VSOCK), the keys of its user or the kernel's log, and has no io_uring, BPF,
//     performance counters, userfaultfd and user namespaces, unless NoSyscallFilter is set. Sockets are of the families
//     AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK only. A program of another architecture, such as one for i386 on amd64, is
//     ended by SIGSYS.
//
// When it ends, all that it left running is killed. One that a signal ended has the exit code 128 and the signal's
// number. PWD is always the working directory. Its name for itself, argv[0], is what was asked for where env can set that
// (GNU coreutils from 9.5 on); else it is a path, whose last part is right. Without GNU env commands are killed where
// they would be asked to end first.
//
// It fails, with ErrInvalidParams for a path in the options that cannot be used, and with ErrInternal if bwrap is not in
// PATH or cannot do all this here, which it tries: kernels may forbid users to make namespaces. On other architectures
// than amd64 and arm64, which there is no filter for, the error is errors.ErrUnsupported too. On other systems than Linux it
// fails with ErrInternal. Wrap fails, and nothing
// runs, if the program or the working directory is not in the sandbox, if a root is "/" or in /proc or /sys, and if there
// are more than some 8900 arguments and variables, a variable counting three times.
func NewBubblewrap(options *BubblewrapOptions) (Wrapper, error) {
	sandbox, err := bwrap.New(bwrap.Options(*cmp.Or(options, &BubblewrapOptions{})))
	if err != nil {
		return nil, inOperation("bubblewrap", "", bubblewrapError(err))
	}
	return bubblewrap{sandbox}, nil
}

// bubblewrap is a Wrapper.
type bubblewrap struct{ sandbox *bwrap.Sandbox }

// Wrap returns the command's bwrap.
func (b bubblewrap) Wrap(_ context.Context, p Proposal) (Wrapped, error) {
	c := p.Command
	w, err := b.sandbox.Wrap(bwrap.Command{
		Path: c.Path, Name: p.Name, Args: c.Args, Dir: c.Dir, Env: c.Env, Roots: p.Roots,
		Outside: terminalVariable, // the manager adds to it
	})
	if err != nil {
		return Wrapped{}, bubblewrapError(err)
	}
	command := Command{Path: w.Args[0], Args: w.Args, Dir: c.Dir, Env: w.Env}
	return Wrapped{Command: command, Files: w.Files, PIDNamespace: true}, nil
}

func bubblewrapError(err error) error {
	e, ok := errors.AsType[*bwrap.Error](err)
	switch {
	case !ok:
		return &Error{Kind: ErrInternal, Err: err}
	case e.Field != "":
		return invalidField(e.Field, e.Reason)
	}
	return &Error{Kind: ErrInternal, Reason: e.Reason, Err: e.Err}
}
