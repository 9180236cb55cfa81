// Package life ends process trees step by step: each step is a signal and a wait, and the last one is SIGKILL.
package life

import (
	"cmp"
	"context"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/latch"
)

// Step is a signal for a whole tree, and how long the tree may take to be gone before the next step.
type Step struct {
	Signal syscall.Signal
	// Wait is negative for no time at all. Zero means 5 seconds, and 10 seconds for SIGKILL.
	Wait time.Duration
}

func (s Step) wait() time.Duration {
	if s.Signal == syscall.SIGKILL {
		return cmp.Or(s.Wait, 10*time.Second)
	}
	return cmp.Or(s.Wait, 5*time.Second)
}

// Tree is a process tree, such as a *proc.Tree.
type Tree interface {
	// Gone reports whether it is certain that no process of the tree runs.
	Gone() bool
	// End sends a signal to the whole tree, at least once. It returns when the tree is gone, or when ctx is done, then
	// with the processes that still run.
	End(ctx context.Context, sig syscall.Signal) (left []int)
}

// End ends a tree and returns the processes that still run after the last step. SIGKILL follows the given steps, unless
// it is the last of them. Setting forced skips to SIGKILL immediately; it may be nil. Only one goroutine at a time may
// call End for a tree.
func End(tree Tree, forced *latch.Latch, steps ...Step) (left []int) {
	if tree.Gone() {
		return nil
	}
	last := Step{Signal: syscall.SIGKILL}
	if n := len(steps); n > 0 && steps[n-1].Signal == syscall.SIGKILL {
		steps, last = steps[:n-1], steps[n-1]
	}
	graceful, force := context.WithCancel(context.Background())
	defer force()
	if forced != nil {
		defer forced.OnSet(force)()
	}
	for _, step := range steps {
		if graceful.Err() != nil {
			break
		}
		if _, gone := take(graceful, tree, step); gone {
			return nil
		}
	}
	left, _ = take(context.Background(), tree, last)
	return left
}

// take sends a step's signal and waits. It reports a tree as gone only within the step's time: the last scan of a step
// may have been cut short and found nothing.
func take(ctx context.Context, tree Tree, step Step) (left []int, gone bool) {
	ctx, cancel := context.WithTimeout(ctx, step.wait())
	defer cancel()
	left = tree.End(ctx, step.Signal)
	return left, len(left) == 0 && ctx.Err() == nil
}
