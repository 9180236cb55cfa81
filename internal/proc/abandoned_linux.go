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

// Abandoned is a tree whose host has died: its leader died with the host and was reaped, so that its number may be
// another process's. What carries the tree's mark is of it, as are the sessions and the children of those processes, and
// all that is in its cgroup.
type Abandoned struct {
	Mark   Mark
	Leader procfs.ID // zero if it is not known
	Cgroup string    // the directory of its own cgroup; empty: none

	// EndAbandoned sets the rest.
	Ended []int // processes that ran and were ended, in no order
	Left  []int // processes that still run
	Err   error // why they could not be looked for; nil otherwise

	cgroup   *cgroup
	held     map[procfs.ID]procfs.Handle // all that were seen to be of the tree
	running  []procfs.Process            // as the last look saw them
	doubtful []int                       // processes that the last look could not tell whether they are of the tree
	unread   error                       // why the last look could not read the whole cgroup
	empty    int                         // looks in a row that saw none
	sent     map[procfs.ID]bool          // the signal of this step
}

// Step is a signal, and how long what gets it may take to end.
type Step struct {
	Signal syscall.Signal
	Wait   time.Duration
}

// EndAbandoned ends trees concurrently, step by step; when ctx ends, the last step comes at once. A tree that this process
// is in is left alone, and Left has this process's number.
func EndAbandoned(ctx context.Context, all []*Abandoned, steps ...Step) {
	var left []*Abandoned
	for _, a := range all {
		a.held = make(map[procfs.ID]procfs.Handle)
		if a.Err = a.open(); a.Err == nil {
			left = append(left, a)
		}
		defer a.close()
	}
	left = lookAtAbandoned(left)
	for i, step := range steps {
		last := i == len(steps)-1
		if last {
			ctx = context.Background()
		}
		if ctx.Err() == nil {
			left = takeStep(ctx, left, step)
		}
	}
	for _, a := range left {
		a.Err = a.unread
		a.Left = append(a.Left, a.doubtful...)
		for _, p := range a.running {
			a.Left = append(a.Left, p.PID)
		}
	}
}

// takeStep sends a signal to all of some trees, and to processes that join them, until they are gone or the step's time is
// over. It returns the trees that are left.
func takeStep(ctx context.Context, left []*Abandoned, step Step) []*Abandoned {
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
		left = slices.DeleteFunc(lookAtAbandoned(left), func(a *Abandoned) bool { return a.empty > 1 })
	}
}

// signal sends to those processes that were not sent to.
func (a *Abandoned) signal(sig syscall.Signal) {
	if sig == syscall.SIGKILL {
		a.cgroup.kill()
	}
	for _, p := range a.running {
		handle, held := a.held[p.ID]
		switch {
		case !held:
		case !a.sent[p.ID]:
			handle.Signal(sig)
			fallthrough
		case p.Stopped:
			handle.Signal(syscall.SIGCONT) // so that a stopped process receives the signal
		}
		a.sent[p.ID] = held
	}
}

// open opens the tree's cgroup, if it had one that is still there.
func (a *Abandoned) open() error {
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

// close frees what the tree holds, and says what was ended.
func (a *Abandoned) close() {
	a.cgroup.remove()
	for id, handle := range a.held {
		handle.Close()
		if !slices.ContainsFunc(a.running, func(p procfs.Process) bool { return p.ID == id }) {
			a.Ended = append(a.Ended, id.PID)
		}
	}
}

// seen is a running process, as a look has seen it.
type seen struct {
	procfs.Process
	marks []string // values of the marks' variable
	doubt bool     // it was becoming another program
}

// lookAtAbandoned looks once at all processes for several trees, and returns those trees that this process is not in. If it
// cannot look, it says so in each tree and returns none.
func lookAtAbandoned(all []*Abandoned) []*Abandoned {
	if len(all) == 0 {
		return nil
	}
	table, complete, err := wholeTable(all[0].Mark.Name)
	if err != nil {
		for _, a := range all {
			a.Err = err
		}
		return nil
	}
	self := os.Getpid()
	return slices.DeleteFunc(all, func(a *Abandoned) bool {
		a.find(table)
		if !complete {
			a.empty = 0
		}
		if slices.ContainsFunc(a.running, func(p procfs.Process) bool { return p.PID == self }) {
			a.Left = []int{self}
			return true
		}
		return false
	})
}

// tableReads is how often a look reads the list of processes at the most.
const tableReads = 100

// wholeTable is all processes that run. A process that ends before it could be looked at may have started another one, so it
// looks at those that began in the meantime, until it has missed none. complete is false when it gave that up.
func wholeTable(variable string) (table []seen, complete bool, err error) {
	looked := make(map[int]bool)
	for range tableReads {
		pids, err := procfs.PIDs()
		if err != nil {
			return nil, false, err
		}
		missed := false
		for _, pid := range pids {
			if looked[pid] {
				continue
			}
			looked[pid] = true
			s, err := see(pid, variable)
			switch {
			case err == nil:
				table = append(table, s)
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

// see looks at one process. Its error is as procfs has it.
func see(pid int, variable string) (seen, error) {
	handle, err := procfs.Open(pid)
	if err != nil {
		return seen{}, err
	}
	defer handle.Close()
	p, err := handle.Process()
	switch {
	case err != nil:
		return seen{}, err
	case p.Exited:
		return seen{}, unix.ESRCH
	case p.Kernel:
		return seen{Process: p}, nil
	}
	value, known := variableOf(handle, variable)
	if known == gone {
		return seen{}, unix.ESRCH
	}
	return seen{Process: p, marks: strings.Split(value, ":"), doubt: known == unknown}, nil
}

// find sets which processes of a table are of the tree, and holds them.
func (a *Abandoned) find(table []seen) {
	in := make(map[int]*seen)      // by number
	sessions := make(map[int]bool) // begun by the tree: their leaders are of it, or gone
	inCgroup, unread := a.cgroup.pids()
	add := func(s *seen) {
		in[s.PID] = s
		leads := func(other seen) bool { return other.PID == s.Session }
		if s.Session != 0 && (in[s.Session] != nil || !slices.ContainsFunc(table, leads)) {
			sessions[s.Session] = true
		}
	}
	a.doubtful = nil
	a.unread = unread
	for i := range table {
		s := &table[i]
		_, held := a.held[s.ID]
		switch {
		case s.Started < a.Leader.Started:
		case held, s.ID == a.Leader, slices.Contains(s.marks, a.Mark.Value), slices.Contains(inCgroup, s.PID):
			add(s)
		case s.doubt:
			a.doubtful = append(a.doubtful, s.PID)
		}
	}
	for grown := true; grown; {
		grown = false
		for i := range table {
			s := &table[i]
			if in[s.PID] == nil && s.Started >= a.Leader.Started && (in[s.Parent] != nil || sessions[s.Session]) {
				add(s)
				grown = true
			}
		}
	}
	a.running = nil
	for _, s := range in {
		if a.hold(s, in) {
			a.running = append(a.running, s.Process)
		}
	}
	if a.empty++; len(a.running)+len(a.doubtful) > 0 || a.unread != nil {
		a.empty = 0
	}
}

// hold opens a process that was found to be of the tree, and makes sure that it is the one that was found. It reports
// whether the process runs. What makes it belong is seen once more through the handle, which can mean no other process:
// its mark, or that its parent or session is still what it was, while another process of the tree that shows this is there.
func (a *Abandoned) hold(s *seen, in map[int]*seen) bool {
	if _, held := a.held[s.ID]; held || s.PID == os.Getpid() {
		return true
	}
	handle, err := procfs.Open(s.PID)
	if err != nil {
		return !procfs.IsGone(err) // else there are no descriptors left
	}
	now, err := handle.Process()
	if err != nil || now.Exited || now.ID != s.ID {
		handle.Close()
		return err != nil && !procfs.IsGone(err)
	}
	if !a.shown(handle, now, in) {
		handle.Close()
		return true // it changed during the look; the next one finds out
	}
	a.held[s.ID] = handle
	return true
}

func (a *Abandoned) shown(handle procfs.Handle, now procfs.Process, in map[int]*seen) bool {
	if now.ID == a.Leader || hasMark(handle, a.Mark) == yes {
		return true
	}
	if inCgroup, _ := a.cgroup.pids(); slices.Contains(inCgroup, now.PID) {
		return true
	}
	for _, other := range in {
		if other.PID != now.Parent && other.Session != now.Session || other.ID == now.ID {
			continue
		}
		if still, err := procfs.Read(other.PID); err == nil && still.ID == other.ID && !still.Exited && still.Session == other.Session {
			return true
		}
	}
	return false
}
