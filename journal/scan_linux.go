package journal

// Finding the processes of a dead host's tree: those with the terminal's mark, their sessions and children, and all
// processes in the tree's cgroup.

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/procfs"
)

// candidate is a running process, as seen by a scan.
type candidate struct {
	procfs.Process
	marks   []string // the terminals in its environment
	unknown bool     // the marks could not be read: during execve, or without free descriptors
}

// scan reads all processes once, for all trees. It drops a tree if the tree is gone or contains this process. If scan
// cannot read the process table, it sets the error of each tree and drops all.
func (f *forest) scan() {
	if len(f.left) == 0 {
		return
	}
	table, complete, err := readTable(&f.procs)
	if err != nil {
		for _, e := range f.left {
			e.err = err
		}
		f.left = nil
		return
	}
	self := os.Getpid()
	f.left = slices.DeleteFunc(f.left, func(e *ending) bool {
		e.find(table)
		if slices.ContainsFunc(e.running, func(p procfs.Process) bool { return p.PID == self }) {
			e.Survivors = []int{self}
			return true
		}
		if e.empty++; len(e.running)+len(e.undecided) > 0 || e.unread != nil || !complete {
			e.empty = 0
		}
		return e.empty > 1
	})
}

// tableReads is the maximal number of times that a scan lists the processes.
const tableReads = 100

// readTable reads all running processes. A process that ends before it is read may have started another, so readTable
// reads newer processes until it misses none. complete is false if it gave up.
func readTable(procs *procfs.Table) (table []candidate, complete bool, err error) {
	seen := make(map[int]bool)
	for range tableReads {
		pids, err := procs.PIDs()
		if err != nil {
			return nil, false, err
		}
		missed := false
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			c, err := readCandidate(procs, pid)
			switch {
			case err == nil:
				table = append(table, c)
			case procfs.IsGone(err):
				missed = true
			case errors.Is(err, fs.ErrPermission) && pid != os.Getpid(): // another user's
			default:
				return nil, false, err
			}
		}
		if !missed {
			return table, true, nil
		}
	}
	return table, false, nil
}

// readCandidate reads one process. Its errors are those of procfs.
func readCandidate(procs *procfs.Table, pid int) (candidate, error) {
	handle, err := procs.Open(pid)
	if err != nil {
		return candidate{}, err
	}
	defer handle.Close()
	p, err := handle.Process()
	switch {
	case err != nil:
		return candidate{}, err
	case p.Exited:
		return candidate{}, unix.ESRCH
	case p.Kernel:
		return candidate{Process: p}, nil
	}
	marks, err := handle.Variable(lookup.TerminalVariable)
	if procfs.IsGone(err) {
		return candidate{}, err
	}
	return candidate{Process: p, marks: marks, unknown: err != nil && !errors.Is(err, fs.ErrPermission)}, nil
}

// find finds the members in a table, and opens them.
func (e *ending) find(table []candidate) {
	members := make(map[int]*candidate) // by PID
	sessions := make(map[int]bool)      // created by members: their leaders are members, or have ended
	var inCgroup []int
	inCgroup, e.unread = e.cgroup.PIDs()
	isMember := func(c *candidate) bool {
		return e.members[c.ID] != nil || e.shows(c.Process, c.marks, inCgroup) ||
			members[c.Parent] != nil || sessions[c.Session]
	}
	for grown := true; grown; {
		grown = false
		for i := range table {
			c := &table[i]
			if members[c.PID] != nil || c.Started < e.leader.Started || !isMember(c) {
				continue
			}
			members[c.PID] = c
			grown = true
			leads := func(other candidate) bool { return other.PID == c.Session }
			if c.Session != 0 && (members[c.Session] != nil || !slices.ContainsFunc(table, leads)) {
				sessions[c.Session] = true
			}
		}
	}
	e.running, e.undecided = nil, nil
	othersLead := func(session int) bool { // if so, none of its processes belongs to the tree
		return members[session] == nil && slices.ContainsFunc(table, func(c candidate) bool {
			return c.PID == session && !c.unknown
		})
	}
	for _, c := range table {
		switch m := members[c.PID]; {
		case m != nil && e.hold(m.Process, members):
			e.running = append(e.running, c.Process)
		case m != nil || c.unknown && c.Started >= e.leader.Started && !othersLead(c.Session):
			e.undecided = append(e.undecided, c.PID)
		}
	}
	listed := func(c candidate) bool { return c.PID == e.leader.PID }
	if e.leader.PID != 0 && !slices.ContainsFunc(table, listed) && process(e.leader).runs() { // /proc hides it
		e.undecided = append(e.undecided, e.leader.PID)
	}
}

// shows reports whether a process is a member by itself: it is the leader, has the mark, or is in the cgroup.
func (e *ending) shows(p procfs.Process, marks []string, inCgroup []int) bool {
	return p.ID == e.leader || slices.Contains(marks, string(e.TerminalID)) || slices.Contains(inCgroup, p.PID)
}

// hold opens a member, unless it is this process, and reports whether it runs. It verifies membership again through the
// handle, which cannot refer to another process.
func (e *ending) hold(found procfs.Process, members map[int]*candidate) (runs bool) {
	if e.members[found.ID] != nil || found.PID == os.Getpid() {
		return true
	}
	handle, err := e.procs.Open(found.PID)
	if err != nil {
		return !procfs.IsGone(err) // not gone: no free descriptors
	}
	now, err := handle.Process()
	switch {
	case err != nil || now.Exited || now.ID != found.ID:
		handle.Close()
		return err != nil && !procfs.IsGone(err)
	case e.stillMember(handle, now, members):
		e.members[found.ID] = &member{Handle: handle}
	default: // it changed during the scan; the next scan decides
		handle.Close()
	}
	return true
}

// stillMember reports whether a process is a member by itself, or has a parent or another process of its session among
// the members. That member must still exist.
func (e *ending) stillMember(handle procfs.Handle, now procfs.Process, members map[int]*candidate) bool {
	marks, _ := handle.Variable(lookup.TerminalVariable)
	inCgroup, _ := e.cgroup.PIDs()
	if e.shows(now, marks, inCgroup) {
		return true
	}
	for _, m := range members {
		if m.ID == now.ID || m.PID != now.Parent && m.Session != now.Session {
			continue
		}
		still, err := e.procs.Read(m.PID)
		if err == nil && still.ID == m.ID && !still.Exited && still.Session == m.Session {
			return true
		}
	}
	return false
}
