package acpterm

// Sandboxes: what rewrites a command just before it starts, after it was allowed. The one that is ready to use is
// bubblewrap's, on Linux (sandbox_linux.go).

import (
	"context"
	"os"
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
