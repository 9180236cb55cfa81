//go:build darwin || freebsd

package acpterm

// The tree of a command on macOS and FreeBSD, found in the process table (proctable_darwin.go, proctable_freebsd.go)
// and ended.
//
// # How a signal reaches no stranger
//
// A signal to the group cannot: the leader is the group's and the session's namesake and, once it has exited, a zombie
// that only close reaps. While it is there no process, group or session is given its number (XNU forkproc and
// FreeBSD fork_findpid try the numbers of processes, zombies, groups and sessions before they give one away).
//
// For a process outside of the group there is no pidfd here, so there is a window. Such a process is known by its
// number together with the microsecond that it was started in, and both are looked at again right before kill(2). For
// that signal to hit a stranger, in the microseconds between the look and kill(2) the process has to exit, its parent has
// to reap it, and a process that we may signal has to be given that very number, of 99,999. Numbers are given out in
// turn (XNU forkproc, FreeBSD fork_findpid), so that takes tens of thousands of forks; on FreeBSD with kern.randompid
// it takes one and the luck of one in tens of thousands.

import (
	"context"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// end sends a signal to the whole tree, and to those that join it later. It returns when none of it runs any more,
// or, with those who do, when the context ends first.
//
// A look at the process table is not one moment, and neither is a signal to the group: XNU makes a list of numbers
// first and visits them after, and passes by a process that is just being forked (proc_iterate, pgrp_iterate: SIDL,
// P_REF_NEW). That one's parent is in the list then, and is missed only if it has exited when it is visited, with
// which its child is there to be seen. So what counts is a look that finds nobody, then SIGKILL to the group, which
// reaches that child, and then another look that finds nobody. (FreeBSD keeps forks and signals to a group apart
// since 2023, by pg_killsx.)
func (g *procGroup) end(ctx context.Context, sig syscall.Signal) (gone bool, left []int) {
	signalled := make(map[identity]bool)
	settled := false // the last look found nobody, and then SIGKILL was sent to the group
	for first := true; ctx.Err() == nil; first = false {
		members, err := g.members()
		if err != nil {
			return g.endGroup(ctx, sig)
		}
		nobody := len(members) == 0
		if nobody && settled {
			return true, nil
		}
		toGroup := sig
		if nobody && !first {
			toGroup = unix.SIGKILL
		}
		if first || nobody {
			g.signalGroup(toGroup)
		}
		settled = nobody && toGroup == unix.SIGKILL

		missed := first // the group's signal may have passed by who was being forked: another look
		for _, p := range members {
			switch {
			case first && p.group == g.pid || signalled[p.identity]:
			case p.group == g.pid && sig == unix.SIGKILL:
				g.signalGroup(sig) // twice is no harm, and in a group there is no window
			case !g.signalMember(p, sig):
				missed = true // it has changed: likewise
				continue
			}
			signalled[p.identity] = true
		}
		if !missed {
			awaitExits(ctx, members)
		}
		if nobody {
			select {
			case <-g.exited: // which is told by another thread
			case <-ctx.Done():
			}
		}
	}
	members, _ := g.members()
	for _, p := range members {
		left = append(left, p.pid)
	}
	return false, left
}

// identity names a process for as long as the machine is up. A number does not come round within a microsecond.
type identity struct {
	pid     int
	started int64 // microseconds since 1970
}

// process is one line of the process table.
type process struct {
	identity
	parent  int
	group   int
	session int
	zombie  bool
}

// szomb is the state of a zombie in the process table (SZOMB in sys/proc.h, of macOS and FreeBSD).
const szomb = 5

// isStill reports whether the process is there and no zombie.
func (p process) isStill() bool {
	now, ok := readProcess(p.pid)
	return ok && !now.zombie && now.identity == p.identity
}

// members are the running processes of the tree: those in the group or the session of the leader, all their children,
// and who was found so once. What leaves the session and loses its parent before anybody looked (setsid after a
// double fork: a daemon) cannot be told from a stranger.
//
// A parent that is a number is good enough here: who has a parent in the tree is its child, or was when the kernel wrote
// the line, since an orphan's parent becomes process 1.
func (g *procGroup) members() ([]process, error) {
	g.mu.Lock()
	reaped := g.reaped
	g.mu.Unlock()
	if reaped {
		return nil, nil
	}
	table, err := processes()
	if err != nil {
		return nil, err
	}
	self, in := os.Getpid(), make(map[int]bool)
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if in[p.pid] || p.pid == self {
				continue
			}
			if p.group == g.pid || p.session == g.pid || in[p.parent] || g.strays[p.identity] {
				in[p.pid], grown = true, true
			}
		}
	}
	var members []process
	for _, p := range table {
		if in[p.pid] && !p.zombie {
			members = append(members, p)
			if p.group != g.pid {
				g.strays.hold(p)
			}
		}
	}
	return members, nil
}

// strays are processes that were found outside of the group. What was found once is of the tree for good, though
// what showed it may be gone next time: its parent, for one. It is used by end alone.
type strays map[identity]bool

// hold remembers a process if what made it one of the tree is seen again, or if its parent has gone meanwhile, which
// makes it an orphan but no stranger.
func (s *strays) hold(p process) {
	if (*s)[p.identity] {
		return
	}
	now, _ := readProcess(p.pid)
	if now == p || now.identity == p.identity && now.parent != p.parent {
		if *s == nil {
			*s = make(strays)
		}
		(*s)[p.identity] = true
	}
}

func (strays) close() {}

// signalMember sends to a process that was found in the tree and still is what was found; false if that cannot
// be said. The head of this file says how small the window is between the look and kill(2).
func (g *procGroup) signalMember(p process, sig syscall.Signal) bool {
	signals := []syscall.Signal{sig, unix.SIGCONT}
	if sig == unix.SIGKILL {
		signals = signals[:1]
	}
	for i, s := range signals {
		now, ok := readProcess(p.pid)
		if !ok || now.zombie || now.identity != p.identity || now.group != g.pid && !g.strays[p.identity] {
			return i > 0
		}
		unix.Kill(p.pid, s) // one of another user stays, and is reported in the end
	}
	return true
}

// awaitExits returns when the processes have exited, or the context has ended.
func awaitExits(ctx context.Context, processes []process) {
	if len(processes) == 0 {
		return
	}
	var queue exitQueue
	if queue.open() == nil {
		woken := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(woken)
			queue.wake()
		})
		running := make(map[int]bool)
		for _, p := range processes {
			// In this order: an exit after the second is told, and one before it is seen.
			if queue.add(p.pid, unix.NOTE_EXIT) == nil && p.isStill() {
				running[p.pid] = true
			}
		}
		for len(running) > 0 {
			event, err := queue.next()
			if err != nil {
				break
			}
			delete(running, int(event.Ident))
		}
		if !stop() {
			<-woken
		}
		queue.close()
	}
	// A process is told to have exited, and can be watched no more, a moment before it is a zombie; of that there is
	// no event. This is also what is left when there are no descriptors for a queue.
	for _, p := range processes {
		for p.isStill() {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}
}
