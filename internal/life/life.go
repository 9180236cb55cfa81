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
	// with the running processes. A doubt says that other processes of the tree may exist, or are exiting.
	End(ctx context.Context, sig syscall.Signal) (left []int, doubt error)
}

// End ends a tree and returns the rest after the last step, like Tree.End. SIGKILL follows the given steps, unless
// it is the last of them. Setting forced, which may be nil, skips to SIGKILL. Calls for one tree must not overlap.
func End(tree Tree, forced *latch.Latch, steps ...Step) (left []int, doubt error) {
	if tree.Gone() {
		return nil, nil
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
		if left, doubt, expired := take(graceful, tree, step); left == nil && doubt == nil && !expired {
			return nil, nil
		}
	}
	left, doubt, _ = take(context.Background(), tree, last)
	return left, doubt
}

// take sends a step's signal and waits. A tree is gone only if the step's time has not expired: its last scan may have
// been cut short and found nothing. If this process was stopped when the time expired, the tree gets the time again: it
// may have been stopped, too, or may have ended unseen.
func take(ctx context.Context, tree Tree, step Step) (left []int, doubt error, expired bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wait := step.wait()
	defer AfterFunc(wait, wait, func() { cancel(context.DeadlineExceeded) }).Stop()
	left, doubt = tree.End(patience{ctx, time.Now().Add(wait)}, step.Signal)
	return left, doubt, ctx.Err() != nil
}

// patience is a context with a deadline that a stop of this process puts off.
type patience struct {
	context.Context
	deadline time.Time
}

func (p patience) Deadline() (time.Time, bool) { return p.deadline, true }

// Stall is how late a timer is if this process was stopped, as in a paused container, and not only slow.
const Stall = time.Second

// AfterFunc is like time.AfterFunc. However, if this process was stopped when the time came, it calls f only after
// another time, so that what happened during the stop is seen first.
func AfterFunc(d, again time.Duration, f func()) *time.Timer {
	const never = 1<<63 - 1
	end, waited := time.Now().Add(d), false
	var timer *time.Timer
	timer = time.AfterFunc(never, func() {
		if !waited && time.Since(end) >= Stall {
			waited = true
			timer.Reset(again)
			return
		}
		f()
	})
	timer.Reset(d) // only now, because the function uses timer
	return timer
}
