package acpterm

// Who belongs to a tree, on Linux: whose session a number is in, what /proc says of the others (proctable_linux.go), and a
// pidfd for each that is to be signalled or waited for. It knows processes, and nothing of what they were started for.

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// member is a running process of the tree.
type member struct {
	process
	escaped bool // it has left the session, and so has its parent or it has none in the tree
	unknown bool // it stands for a tree that cannot be seen
}

// members are the running processes of the tree: those of the terminal's cgroup, if it has one; the group and
// the session of the leader; whoever has the terminal's mark in its environment or its output open for writing,
// which outlive a new session, a double fork and each other; and all their children. What has left all of that
// cannot be told from a stranger; only a cgroup holds it.
//
// A process that began before the leader is none of its tree, nor is this one. Strangers are those who were seen to carry
// no mark when they were looked at before; those who are now are added.
func (g *procGroup) members(exited bool, since pidRange, strangers map[identity]bool) []member {
	leader := g.ofSession(g.pid, g.pid)
	leader.zombie = exited
	var crew, others []process
	if g.trees.others(since, g.entry) {
		skip := g.trees.skip(g.entry, since == pidRange{})
		var all bool
		if crew, skip, all = g.crew(since, skip); !all {
			others = g.trees.lookout.processes(since, skip)
			var ok bool
			if leader, ok = g.readLeader(exited); !ok {
				return g.unseen()
			}
		}
	}
	self, pipe := os.Getpid(), g.output.number()
	others = slices.DeleteFunc(slices.Clone(others), func(p process) bool {
		return p.started < leader.started || p.pid == self || p.pid == g.pid
	})
	table := append(append(others, crew...), leader)
	in := make(map[int]bool)
	for _, pid := range g.cgroup.pids() {
		in[pid] = true
	}
	for _, p := range table {
		if _, held := g.strays[p.identity]; held {
			in[p.pid] = true
		}
	}
	var escaped []int
	for grown, first := true, true; grown; first = false {
		grown = false
		for _, p := range table {
			switch {
			case in[p.pid]:
				continue
			case p.group == g.pid, p.session == g.pid, in[p.parent]:
			case first && !strangers[p.identity] && !g.trees.has(p.session) && g.hasMark(p, pipe):
				escaped = append(escaped, p.pid)
			default:
				strangers[p.identity] = true
				continue
			}
			in[p.pid], grown = true, true
		}
	}
	var members []member
	for _, p := range table {
		if in[p.pid] && !p.zombie {
			members = append(members, member{process: p, escaped: slices.Contains(escaped, p.pid)})
		}
	}
	return members
}

// unseen are the members of a tree that cannot be looked at.
func (g *procGroup) unseen() []member {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaped {
		return nil // it was ended before
	}
	// The zombie at least must be there. There may be no descriptors left to read the table with, and then
	// nothing is known of anybody.
	return []member{{process: process{identity: identity{pid: g.pid}}, unknown: true}}
}

// crew are those of the leader's session but itself, as far as that can be told from the numbers in a range: to ask the
// kernel for the session of one takes a fraction of the time that it takes to read its line of the table. skipToo reports
// those as well of which no more need be known; all says that there are no others.
//
// Whoever is in the session is of the tree, since its number, which is the leader's, is given to nobody else before the
// leader is reaped. A number is given out before anybody is seen to have it, while his parent forks. So nobody has one only if
// whoever may be his parent, who has a lower one, was known before.
func (g *procGroup) crew(in pidRange, skip func(number int) bool) (crew []process, skipToo func(number int) bool, all bool) {
	numbers, few := g.trees.unknown(in, g.entry)
	if !few {
		return nil, skip, false
	}
	all = true
	settled := make(map[int]bool, len(numbers))
	var free []int
	for _, number := range numbers {
		p, who := g.glance(number)
		switch who {
		case someone:
			all = false
			continue
		case ofCrew:
			crew = append(crew, p)
		case noOne:
			free = append(free, number)
		}
		settled[number] = all || who != noOneYet
	}
	g.trees.settle(free)
	return crew, func(number int) bool { return settled[number] || skip(number) }, all
}

// holder is who has a number.
type holder int

const (
	someone  holder = iota // perhaps
	ofCrew                 // a process of the leader's session, which runs
	noOne                  // nor will anybody before the numbers come round: it is a thread's, the kernel's, or an exited process's
	noOneYet               // but it may have been given out, to a process that is just being made
)

// glance looks who has a number.
func (g *procGroup) glance(number int) (process, holder) {
	session, err := unix.Getsid(number)
	switch err {
	case nil:
	case unix.ESRCH:
		return process{}, noOneYet
	default:
		return process{}, someone
	}
	pidfd, err := unix.PidfdOpen(number, 0)
	switch err {
	case nil:
		defer unix.Close(pidfd)
	case unix.ESRCH, unix.EINVAL, unix.ENOENT: // the last two are a thread's
		return process{}, noOne
	default:
		return process{}, someone
	}
	switch {
	case isReadable(pidfd), session == 0 && isKernels(number): // the kernel's have no session
		return process{}, noOne
	case session != g.pid:
		return process{}, someone
	}
	group, _ := unix.Getpgid(number) // which may fail if it is gone by now
	return g.ofSession(number, group), ofCrew
}

// noneLeft reports whether nobody but other leaders runs who has a number in a range, unless there are too many for a quick
// look.
func (g *procGroup) noneLeft(in pidRange) bool {
	const many = 200
	numbers, few := g.trees.unknown(in, g.entry)
	if !few || len(numbers) > many {
		return false
	}
	var free []int
	for _, number := range numbers {
		switch _, who := g.glance(number); who {
		case someone, ofCrew:
			return false
		case noOne:
			free = append(free, number)
		}
	}
	g.trees.settle(free)
	return g.trees.noneSince(in)
}

// ofSession is a process of which no more is known than that it is of the leader's session.
func (g *procGroup) ofSession(number, group int) process {
	return process{identity: identity{pid: number}, group: group, session: g.pid}
}

// readLeader is the leader's line of the table. What it says of a zombie is known from when it was not.
func (g *procGroup) readLeader(exited bool) (leader process, ok bool) {
	if !exited || g.watch.leader.started == 0 {
		g.watch.leader, ok = readProcess(g.pid)
		if !ok {
			return process{}, false
		}
	}
	g.watch.leader.zombie = g.watch.leader.zombie || exited
	return g.watch.leader, true
}

// hasMark reports whether a process carries the terminal's mark, or can write to its output.
func (g *procGroup) hasMark(p process, pipe uint64) bool {
	if g.cgroup != nil || p.zombie {
		return false // nothing leaves a cgroup, so there is no need to look
	}
	if slices.Contains(strings.Split(p.environ(terminalVariable), ":"), g.mark) {
		return true
	}
	// A child of this process that has not become its program yet has all our files open for a moment.
	return pipe != 0 && p.canWriteTo(pipe) && !(p.parent == os.Getpid() && p.executesSameAs(os.Getpid()))
}

// signalMember sends to a process that was found in the tree. Without pidfds, before Linux 5.3, it sends nothing.
func (g *procGroup) signalMember(p member, sig syscall.Signal) {
	pidfd, held := g.strays[p.identity]
	if !held {
		var err error
		if pidfd, err = g.open(p); err != nil {
			return
		}
		defer unix.Close(pidfd)
	}
	if unix.PidfdSendSignal(pidfd, sig, nil, 0) == nil && sig != unix.SIGKILL {
		unix.PidfdSendSignal(pidfd, unix.SIGCONT, nil, 0)
	}
}

// open returns a pidfd of a process that was found in the tree, if it still is what was found.
func (g *procGroup) open(found member) (int, error) {
	pidfd, err := unix.PidfdOpen(found.pid, 0)
	if err != nil {
		return -1, err
	}
	if !g.isStill(found) {
		unix.Close(pidfd)
		return -1, unix.ESRCH
	}
	return pidfd, nil
}

// isStill reports whether what has the number of a process that was found in the tree is in it now.
func (g *procGroup) isStill(found member) bool {
	if found.started == 0 {
		return found.process.isStill()
	}
	// The same parent, group, session and start: in the tree if what was found was, unless that was an escapee,
	// whose relations say nothing.
	now, _ := readProcess(found.pid)
	return now == found.process && !(found.escaped && !g.hasMark(now, g.output.number()))
}

// strays are pidfds of processes that were found outside of the group. What was found once is of the tree for
// good, though what showed it may be gone next time: its parent, for one. It is used by end and close alone.
type strays map[identity]int

// hold remembers a process.
func (s *strays) hold(p member, g *procGroup) {
	if _, held := (*s)[p.identity]; held {
		return
	}
	if pidfd, err := g.open(p); err == nil {
		if *s == nil {
			*s = make(strays)
		}
		(*s)[p.identity] = pidfd
	}
}

func (s strays) close() {
	for _, pidfd := range s {
		unix.Close(pidfd)
	}
	clear(s)
}
