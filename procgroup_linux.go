package acpterm

// Linux: the leader's exit is seen on a pidfd, which Go's poller watches like a socket: no thread waits,
// however many terminals there are. The members of its group are found in /proc.

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fionread asks how many bytes lie in a pipe (man 2 ioctl_tty: FIONREAD is TIOCINQ).
const fionread = unix.TIOCINQ

// exitWatch sees a child exit without reaping it.
type exitWatch struct {
	fd    int      // of the pidfd, as fork gave it; -1 on a kernel without (before 5.2)
	pidfd *os.File // the same, in the poller; nil without
}

// prepare asks for the pidfd to be made by the fork itself.
func (w *exitWatch) prepare(attr *syscall.SysProcAttr) {
	w.fd = -1
	attr.PidFD = &w.fd
}

func (w *exitWatch) open(int) error {
	if w.fd < 0 {
		return nil
	}
	file, err := pollable(w.fd)
	w.pidfd = file
	return err
}

// pollable hands a descriptor to Go's poller.
func pollable(fd int) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

func (w *exitWatch) close() {
	if w.pidfd != nil {
		w.pidfd.Close()
	}
}

// await returns when the child has exited and leaves it a zombie (WNOWAIT).
func (w *exitWatch) await(pid int) (exit, error) {
	if w.pidfd == nil {
		e, _, err := waitNoReap(unix.P_PID, pid, 0)
		return e, err
	}
	raw, err := w.pidfd.SyscallConn()
	if err != nil {
		return exit{}, err
	}
	var e exit
	var waitErr error
	readErr := raw.Read(func(fd uintptr) (done bool) {
		var exited bool
		e, exited, waitErr = waitNoReap(unix.P_PIDFD, int(fd), unix.WNOHANG)
		return exited || waitErr != nil
	})
	return e, errors.Join(readErr, waitErr)
}

// childInfo is how waitid fills in siginfo_t (man 2 sigaction): three ints, then the fields of SIGCHLD,
// aligned to a word. x/sys has no names for those.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
	pid, uid, status   int32
}

const (
	cldExited    = 1 // CLD_EXITED: status is an exit code; else a signal
	allExitsOnly = unix.WEXITED | unix.WNOWAIT
)

// waitNoReap is waitid for exits, leaving the zombie.
func waitNoReap(idType, id, options int) (e exit, exited bool, err error) {
	var info unix.Siginfo
	for {
		err = unix.Waitid(idType, id, &info, allExitsOnly|options, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	child := (*childInfo)(unsafe.Pointer(&info))
	switch {
	case err != nil || child.pid == 0: // WNOHANG, and it has not
		return exit{}, false, err
	case child.code == cldExited:
		return exit{code: uint32(child.status)}, true, nil
	}
	return signalExit(syscall.Signal(child.status)), true, nil
}

// awaitGone waits for the leader's exit, then for that of each other member of its group, on a pidfd of
// its own, until a look finds none.
func (g *procGroup) awaitGone(ctx context.Context) []int {
	select {
	case <-g.exited:
	case <-ctx.Done():
		return append(g.members(), g.pid)
	}
	for {
		members := g.members()
		if len(members) == 0 || ctx.Err() != nil {
			return members
		}
		g.awaitMember(ctx, members[0])
	}
}

// awaitMember returns when a process is no running member of the group, or the context has ended.
func (g *procGroup) awaitMember(ctx context.Context, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	var pidfd *os.File
	if err == nil {
		pidfd, err = pollable(fd)
	}
	if err != nil { // an old kernel, or no descriptors left: look again in a while
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
		return
	}
	defer pidfd.Close()
	defer context.AfterFunc(ctx, func() { pidfd.SetReadDeadline(time.Unix(1, 0)) })()
	raw, err := pidfd.SyscallConn()
	if err != nil {
		return
	}
	opened := false
	raw.Read(func(uintptr) (done bool) {
		if opened {
			return true // the poller says that it is readable: it has exited
		}
		opened = true
		return !g.isMember(pid) // the number may have changed hands before the descriptor was opened
	})
}

// members are the running processes of the group.
func (g *procGroup) members() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != g.pid && g.isMember(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isMember reports whether a process runs in the group.
func (g *procGroup) isMember(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// "pid (name) state parent group …": a name may hold anything, ")" too (man 5 proc_pid_stat).
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	return len(fields) > 2 && fields[2] == strconv.Itoa(g.pid) && fields[0] != "Z" && fields[0] != "X"
}
