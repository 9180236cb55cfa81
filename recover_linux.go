package acpterm

// Linux: what a host that died left running is found in /proc, as the tree of a living terminal is
// (procgroup_linux.go), but for two things. The output's pipe is gone. And the leader, which dies with its host, has
// been reaped by another, so its number may be a stranger's.
//
// How a signal reaches no stranger: first a pidfd is opened, then the process that has the number is seen to belong to
// the tree, then the signal is sent to the pidfd; if the pidfd's process still lives at that moment, it had the number
// all along, and so is what was seen. For who carries the mark it is enough to look at it. For the others, processes
// are looked at twice, and the pidfd is opened between: it counts only if the second look sees the process, its parent
// and its session as the first did. What makes it belong, its parent or another process of its session, then was there
// from one look to the other, so its number was nobody else's when the relation was seen.
//
// What forks and exits faster than it can be looked at may get away; only a cgroup holds that.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// bootID names the time since the machine's start, in which no two processes are alike in number and start.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id)), err
}

// newRecordedProcess records when the process started as clock ticks after the machine's start.
func newRecordedProcess(pid int) (recordedProcess, error) {
	p, ok := readProcess(pid)
	if !ok {
		return recordedProcess{}, fmt.Errorf("process %d is not in /proc", pid)
	}
	return recordedProcess{p.pid, p.started}, nil
}

func (p recordedProcess) identity() identity { return identity{p.PID, p.Started} }

// lives reports whether it runs, in this boot of the machine.
func (p recordedProcess) lives() bool { return process{identity: p.identity()}.isStill() }

// endRemains ends trees side by side: SIGTERM, the default grace or until the context ends, and SIGKILL.
func endRemains(ctx context.Context, all []*remains) {
	now, err := look()
	if err == nil {
		err = canHold()
	}
	var quarries []*quarry
	for _, r := range all {
		q := &quarry{remains: r, held: make(map[identity]int)}
		openErr := q.openCgroup()
		defer q.close()
		switch self := os.Getpid(); {
		case err != nil:
			r.fail(err)
		case openErr != nil:
			r.fail(openErr)
		case slices.ContainsFunc(q.members(now), func(p process) bool { return p.pid == self }):
			r.survive([]int{self})
		default:
			quarries = append(quarries, q)
		}
	}
	for _, step := range new(Options).escalation() {
		if ctx.Err() == nil {
			quarries = takeStep(ctx, quarries, step)
		}
	}
	for _, q := range takeStep(context.Background(), quarries, EscalationStep{syscall.SIGKILL, killWait}) {
		if q.err == nil {
			q.survive(q.pids())
		}
	}
}

// fail makes it one whose processes could not be looked for.
func (r *remains) fail(err error) {
	r.err = &Error{Op: "recover", Kind: ErrInternal, SessionID: r.Session, TerminalID: r.Terminal,
		Reason: "what it left running cannot be looked for", Err: err}
	r.keep = true
}

// survive makes it one that could not be ended.
func (r *remains) survive(pids []int) {
	r.survivors = pids
	r.err = &Error{Op: "recover", Kind: ErrSurvivors, SessionID: r.Session, TerminalID: r.Terminal, PIDs: pids}
	r.keep = true
}

// quarry is a tree that is being ended.
type quarry struct {
	*remains
	cgroup *cgroup

	held    map[identity]int // pidfds of all that was seen to be of the tree
	running []process        // what the last looks saw of it
}

// openCgroup opens the terminal's cgroup, if it had one that is still there.
func (q *quarry) openCgroup() error {
	if q.Cgroup == "" {
		return nil
	}
	dir, err := os.Open(q.Cgroup)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var system unix.Statfs_t
	err = unix.Fstatfs(int(dir.Fd()), &system)
	if err == nil && (system.Type != unix.CGROUP2_SUPER_MAGIC || filepath.Base(q.Cgroup) != string(q.Terminal)) {
		err = fmt.Errorf("%s is not the terminal's cgroup", q.Cgroup)
	}
	if err != nil {
		dir.Close()
		return err
	}
	q.cgroup = &cgroup{dir}
	return nil
}

// close frees what it has, and says what was ended.
func (q *quarry) close() {
	q.cgroup.remove()
	for p, pidfd := range q.held {
		unix.Close(pidfd)
		if !slices.ContainsFunc(q.running, func(r process) bool { return r.identity == p }) {
			q.ended = append(q.ended, p.pid)
		}
	}
}

// takeStep sends a signal to whole trees, and to what joins them meanwhile, until they are gone or the step's time is
// over. It returns those that are left.
func takeStep(ctx context.Context, quarries []*quarry, step EscalationStep) []*quarry {
	ctx, cancel := context.WithTimeout(ctx, step.Wait)
	defer cancel()
	signalled := make(map[identity]bool)
	for {
		if err := hunt(quarries, step.Signal, signalled); err != nil {
			for _, q := range quarries {
				q.fail(err)
			}
			return quarries
		}
		quarries = slices.DeleteFunc(quarries, func(q *quarry) bool { return len(q.running) == 0 })
		if len(quarries) == 0 || ctx.Err() != nil {
			return quarries
		}
		if slices.ContainsFunc(quarries, (*quarry).elusive) {
			continue // they have not been sent the signal
		}
		for _, q := range quarries {
			for _, p := range q.running {
				p.awaitExit(ctx)
			}
		}
	}
}

// elusive reports whether there are some of it that it does not hold: they changed between the looks.
func (q *quarry) elusive() bool {
	return slices.ContainsFunc(q.running, func(p process) bool {
		_, held := q.held[p.identity]
		return !held
	})
}

// signal sends to those who have not been sent to.
func (q *quarry) signal(sig syscall.Signal, signalled map[identity]bool) {
	if sig == unix.SIGKILL {
		q.cgroup.kill()
	}
	for p, pidfd := range q.held {
		if !signalled[p] && unix.PidfdSendSignal(pidfd, sig, nil, 0) == nil && sig != unix.SIGKILL {
			unix.PidfdSendSignal(pidfd, unix.SIGCONT, nil, 0) // so that a stopped one hears it
		}
		signalled[p] = true
	}
}

// hunt looks twice for who runs of the trees, and signals whom it can hold. A tree is gone when neither look saw
// anyone: one alone can miss a process that forks and exits while it goes on.
func hunt(quarries []*quarry, sig syscall.Signal, signalled map[identity]bool) error {
	if len(quarries) == 0 {
		return nil
	}
	first, err := look()
	if err != nil {
		return err
	}
	candidates := make([]map[process]int, len(quarries))
	for i, q := range quarries {
		q.running = q.members(first)
		candidates[i] = q.open(q.running)
		q.signal(sig, signalled)
	}
	second, err := look()
	for i, q := range quarries {
		var members []process
		if err == nil {
			members = q.members(second)
		}
		for p, pidfd := range candidates[i] {
			if slices.Contains(members, p) {
				q.held[p.identity] = pidfd
			} else {
				unix.Close(pidfd)
			}
		}
		for _, p := range members {
			if !slices.Contains(q.running, p) {
				q.running = append(q.running, p)
			}
		}
		q.signal(sig, signalled)
	}
	return err
}

// canHold fails where there are no pidfds, before Linux 5.3 and in some sandboxes.
func canHold() error {
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	return unix.Close(pidfd)
}

// open opens pidfds of those that it does not hold. It holds those that carry the mark and returns the others'.
func (q *quarry) open(members []process) map[process]int {
	opened := make(map[process]int)
	for _, p := range members {
		if _, held := q.held[p.identity]; held || p.pid == os.Getpid() {
			continue
		}
		pidfd, err := unix.PidfdOpen(p.pid, 0)
		if err != nil {
			continue // it is gone
		}
		if slices.Contains(p.terminals(), string(q.Terminal)) && p.isStill() {
			q.held[p.identity] = pidfd
		} else {
			opened[p] = pidfd
		}
	}
	return opened
}

// sight is what a look saw.
type sight struct {
	table     []process
	terminals map[int][]string // by process
}

// look looks at all processes.
func look() (sight, error) {
	table, err := processes(pidRange{}, nobody)
	s := sight{table: table, terminals: make(map[int][]string)}
	self := false
	for _, p := range table {
		self = self || p.pid == os.Getpid()
		s.terminals[p.pid] = p.terminals()
	}
	if err == nil && !self { // /proc hides it, or there are no descriptors left: it says nothing of others either
		err = errors.New("this process is not in /proc")
	}
	return s, err
}

// terminals are those that a process says it runs in.
func (p process) terminals() []string { return strings.Split(p.environ(terminalVariable), ":") }

// pids are the numbers of those who run.
func (q *quarry) pids() (pids []int) {
	for _, p := range q.running {
		pids = append(pids, p.pid)
	}
	return pids
}

// members are the running processes of the tree: those of its cgroup; the leader; whoever carries the terminal's mark;
// what was held before; the session with the leader's number if one of those is in it, for then it is the session that
// the leader began; and all their children. A session with that number and none of those in it may be a stranger's.
func (q *quarry) members(s sight) (running []process) {
	table := slices.DeleteFunc(slices.Clone(s.table), func(p process) bool { return p.started < q.Leader.Started })
	in := make(map[int]bool)
	for _, pid := range q.cgroup.pids() {
		in[pid] = true
	}
	session := 0 // the leader's; 0 as long as it is not known to be there. Strangers are in a session 0
	for _, p := range table {
		_, held := q.held[p.identity]
		if held || p.identity == q.Leader.identity() || slices.Contains(s.terminals[p.pid], string(q.Terminal)) {
			in[p.pid] = true
		}
		if in[p.pid] && p.session == q.Leader.PID {
			session = q.Leader.PID
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.pid] && (in[p.parent] || session != 0 && p.session == session) {
				in[p.pid], grown = true, true
			}
		}
	}
	for _, p := range table {
		if in[p.pid] && !p.zombie {
			running = append(running, p)
		}
	}
	return running
}
