package proc

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/procfs"
)

// abandoned is an Abandoned that is being ended.
type abandoned struct {
	*Abandoned
	cgroup  *cgroup
	handles map[procfs.ID]procfs.Handle // of all members that were ever found
	sent    map[procfs.ID]bool          // members that were sent the signal of this step

	// Of the last scan.
	running   []procfs.Process // members
	undecided []int            // processes that may be members: they are in execve each time
	unread    error            // why the cgroup could not be read as a whole
	empty     int              // so many scans in a row have found nothing
}

// EndAbandoned ends trees concurrently, step by step; when ctx ends, the last step comes at once. A tree that this
// process is in is left alone, and Left has this process's number.
func EndAbandoned(ctx context.Context, all []*Abandoned, steps ...Step) {
	var left []*abandoned
	for _, tree := range all {
		a := &abandoned{Abandoned: tree, handles: make(map[procfs.ID]procfs.Handle)}
		if a.Err = a.open(); a.Err == nil {
			left = append(left, a)
		}
		defer a.close()
	}
	left = scanAbandoned(left)
	for i, step := range steps {
		if i == len(steps)-1 {
			ctx = context.Background()
		}
		if ctx.Err() == nil {
			left = takeStep(ctx, left, step)
		}
	}
	for _, a := range left {
		a.Err = a.unread
		a.Left = append(a.Left, a.undecided...)
		for _, p := range a.running {
			a.Left = append(a.Left, p.PID)
		}
	}
}

// takeStep sends a signal to all of some trees, and to processes that join them, until they are gone or the step's time
// is over. It returns the trees that are left.
func takeStep(ctx context.Context, left []*abandoned, step Step) []*abandoned {
	ctx, cancel := context.WithTimeout(ctx, step.Wait)
	defer cancel()
	for _, a := range left {
		a.sent = make(map[procfs.ID]bool)
	}
	for pause := stepPause; ; pause = min(2*pause, maxPause) {
		for _, a := range left {
			a.signal(step.Signal)
		}
		if len(left) == 0 || ctx.Err() != nil {
			return left
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		left = slices.DeleteFunc(scanAbandoned(left), func(a *abandoned) bool { return a.empty > 1 })
	}
}

// signal sends to those members that were not sent to.
func (a *abandoned) signal(sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		a.cgroup.kill()
	}
	for _, p := range a.running {
		handle, open := a.handles[p.ID]
		switch {
		case !open:
		case !a.sent[p.ID]:
			send(sig, handle.Signal)
			a.sent[p.ID] = true
		case p.Stopped: // after it was sent the signal
			handle.Signal(syscall.SIGCONT)
		}
	}
}

// open opens the tree's cgroup, if it had one that is still there.
func (a *abandoned) open() error {
	if a.Cgroup == "" {
		return nil
	}
	dir, err := os.Open(a.Cgroup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var system unix.Statfs_t
	err = unix.Fstatfs(int(dir.Fd()), &system)
	if err == nil && (system.Type != unix.CGROUP2_SUPER_MAGIC || filepath.Base(a.Cgroup) != a.Mark.Value) {
		err = errors.New(a.Cgroup + " is not the terminal's cgroup")
	}
	if err != nil {
		dir.Close()
		return err
	}
	a.cgroup = &cgroup{dir}
	return nil
}

// close frees what the tree has open, and says what was ended.
func (a *abandoned) close() {
	a.cgroup.remove()
	for id, handle := range a.handles {
		handle.Close()
		if !slices.ContainsFunc(a.running, func(p procfs.Process) bool { return p.ID == id }) {
			a.Ended = append(a.Ended, id.PID)
		}
	}
}

// candidate is a running process, as a scan has seen it.
type candidate struct {
	procfs.Process
	marks   []string // values of the marks' variable
	unknown bool     // the marks are: it was in execve
}

// scanAbandoned looks once at all processes for several trees, and returns those trees that this process is not in. If
// it cannot read the process table, it says so in each tree and returns none.
func scanAbandoned(all []*abandoned) []*abandoned {
	if len(all) == 0 {
		return nil
	}
	table, complete, err := readTable(all[0].Mark.Name)
	if err != nil {
		for _, a := range all {
			a.Err = err
		}
		return nil
	}
	self := os.Getpid()
	return slices.DeleteFunc(all, func(a *abandoned) bool {
		a.find(table)
		if a.empty++; len(a.running)+len(a.undecided) > 0 || a.unread != nil || !complete {
			a.empty = 0
		}
		if slices.ContainsFunc(a.running, func(p procfs.Process) bool { return p.PID == self }) {
			a.Left = []int{self}
			return true
		}
		return false
	})
}

// tableReads is how often a scan lists the processes at the most.
const tableReads = 100

// readTable reads all processes that run. One that ends before it is read may have started another one, so those that
// began since are read until none is missed. complete is false when it gave that up.
func readTable(variable string) (table []candidate, complete bool, err error) {
	seen := make(map[int]bool)
	for range tableReads {
		pids, err := procfs.PIDs()
		if err != nil {
			return nil, false, err
		}
		missed := false
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			c, err := readCandidate(pid, variable)
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
func readCandidate(pid int, variable string) (candidate, error) {
	handle, err := procfs.Open(pid)
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
	value, known := variableOf(handle, variable)
	if known == gone {
		return candidate{}, unix.ESRCH
	}
	return candidate{Process: p, marks: strings.Split(value, ":"), unknown: known == unknown}, nil
}

// find sets which processes of a table are members, and opens them.
func (a *abandoned) find(table []candidate) {
	members := make(map[int]*candidate) // by number
	sessions := make(map[int]bool)      // begun by members: their leaders are members, or have ended
	var inCgroup []int
	inCgroup, a.unread = a.cgroup.pids()
	isMember := func(c *candidate) bool {
		_, open := a.handles[c.ID]
		return open || c.ID == a.Leader || slices.Contains(c.marks, a.Mark.Value) || slices.Contains(inCgroup, c.PID) ||
			members[c.Parent] != nil || sessions[c.Session]
	}
	for grown := true; grown; {
		grown = false
		for i := range table {
			c := &table[i]
			if members[c.PID] != nil || c.Started < a.Leader.Started || !isMember(c) {
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
	a.running, a.undecided = nil, nil
	for _, c := range table {
		switch m := members[c.PID]; {
		case m != nil && a.hold(m, members):
			a.running = append(a.running, c.Process)
		case m == nil && c.unknown && c.Started >= a.Leader.Started:
			a.undecided = append(a.undecided, c.PID)
		}
	}
}

// hold opens a process that was found to be a member, and makes sure that it is the one that was found. It reports
// whether the process runs. What makes it a member is seen once more through the handle, which can mean no other
// process.
func (a *abandoned) hold(c *candidate, members map[int]*candidate) bool {
	if _, open := a.handles[c.ID]; open || c.PID == os.Getpid() {
		return true
	}
	handle, err := procfs.Open(c.PID)
	if err != nil {
		return !procfs.IsGone(err) // else there are no descriptors left
	}
	now, err := handle.Process()
	switch {
	case err != nil || now.Exited || now.ID != c.ID:
		handle.Close()
		return err != nil && !procfs.IsGone(err)
	case a.stillMember(handle, now, members):
		a.handles[c.ID] = handle
	default: // it changed during the scan; the next one decides
		handle.Close()
	}
	return true
}

// stillMember reports whether a process has the mark, is in the cgroup, or has its parent or another process of its
// session among the members, which is there still.
func (a *abandoned) stillMember(handle procfs.Handle, now procfs.Process, members map[int]*candidate) bool {
	if now.ID == a.Leader || hasMark(handle, a.Mark) == yes {
		return true
	}
	if inCgroup, _ := a.cgroup.pids(); slices.Contains(inCgroup, now.PID) {
		return true
	}
	for _, m := range members {
		if m.ID == now.ID || m.PID != now.Parent && m.Session != now.Session {
			continue
		}
		still, err := procfs.Read(m.PID)
		if err == nil && still.ID == m.ID && !still.Exited && still.Session == m.Session {
			return true
		}
	}
	return false
}
