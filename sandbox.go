package acpterm

// Sandboxes rewrite allowed commands just before their start. Package bubblewrap has one for Linux.

import (
	"context"
	"os"
)

// Sandbox rewrites an allowed command just before its start, so that it runs confined. It must be safe for concurrent
// use. If it fails, nothing runs and the create fails.
type Sandbox interface {
	Wrap(ctx context.Context, p Proposal) (Wrapped, error)
}

// Wrapped is the command of a Sandbox, which starts instead of the allowed command.
type Wrapped struct {
	// Command has the Path, Args, Dir and Env to start. The confining program itself runs unconfined: Env must not
	// contain variables of the command that affect programs, such as LD_PRELOAD, and Args must not contain secrets.
	Command Command
	// Files are inherited as descriptors 3, 4 and so on. The Manager closes them after the start. They are not
	// supported on Windows.
	Files []*os.File
	// PIDNamespace says that the allowed command runs in its own Linux PID namespace, whose first process ends with the
	// started process, so that the kernel ends all its processes. Processes outside the namespace are then not part of
	// the tree if they only hold the command's output, which the command can pass to any process.
	PIDNamespace bool
}
