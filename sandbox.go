package acpterm

// Sandboxes: what rewrites a command just before it starts, after it was allowed. The package bubblewrap has one for
// Linux.

import (
	"context"
	"os"
)

// Sandbox rewrites a command just before it is started, after the policy has allowed it, so that it runs in something
// that confines it. It must be safe for concurrent use. When it fails, nothing runs and the create fails.
type Sandbox interface {
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
	// of it is then no part of the command's tree because it holds the command's output, which the command can hand to
	// any process that it can reach. False, the default, makes no such promise.
	PIDNamespace bool
}
