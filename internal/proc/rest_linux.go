package proc

// This file watches what is left of a tree after the leader's exit, until it ends by itself, on Linux.

import (
	"context"
	"time"
)

const (
	// maxWatched is the number of processes that one Rest watches. The next one watches the others.
	maxWatched = 16
	// firstRest and maxRest bound the pauses between two looks that do not wait for exits alone.
	firstRest = time.Millisecond
	maxRest   = time.Second
)

// Rest looks for the processes of the tree. It returns nil if it is certain that none runs. Otherwise the caller calls
// await, once, and then looks again: await returns when the processes found have ended, which may have started others,
// or when ctx is done. await may run during End. It costs a descriptor for each process. Without pidfds (before Linux
// 5.3), without a usable /proc, and while all processes found are in execve, it returns after at most a second. So it
// does with Spec.KeepDetached, because a process does not tell when it detaches itself.
func (t *Tree) Rest() (await func(ctx context.Context)) {
	if !t.HasExited() {
		return func(ctx context.Context) { t.pause(ctx, maxRest) }
	}
	t.trace = newTrace(t.pid)
	for empty := 1; ; empty++ {
		s := t.scan(make(seen), false, false)
		if s.empty() && (s.complete || empty > 1) {
			t.trace.looks("nothing more: the tree has ended by itself")
			return nil
		}
		if !s.empty() {
			return t.watch(s)
		}
	}
}

// watch prepares to wait for the exits of the members found, and frees the scan. With Spec.KeepDetached, it makes no
// process a member for later, like Gone.
func (t *Tree) watch(s *scan) (await func(ctx context.Context)) {
	var exits []func(context.Context) bool
	for _, m := range s.members[:min(len(s.members), maxWatched)] {
		if exit, err := m.handle.WatchExit(m.PID); err == nil {
			exits = append(exits, exit)
		}
	}
	s.close()
	if t.keeps {
		t.forgetEscaped()
	}
	return func(ctx context.Context) {
		t.rest = min(max(2*t.rest, firstRest), maxRest)
		if t.keeps {
			limited, cancel := context.WithTimeout(ctx, t.rest)
			defer cancel()
			ctx = limited
		}
		exited := false
		for _, exit := range exits {
			exited = exit(ctx) || exited
		}
		if exited {
			t.rest = 0
			return
		}
		t.pause(ctx, t.rest)
	}
}
