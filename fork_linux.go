//go:build (amd64 || arm64) && !android

package acpterm

// How a command is forked on Linux, on the architectures that there is a fork_linux_*.s for. What a child does between its
// fork and its program is a table of system calls here, which it makes with nothing but its registers. It runs in this
// process's memory (CLONE_VM) and even on the stack of the thread that forked it, and touches neither. So that thread need not wait
// until the child has its program (CLONE_VFORK), as all have to whose child runs a function: it goes on, and hears when that
// is so (loan_linux.go).
//
// Why not syscall.ForkExec, which is used elsewhere: while execve is at work, its thread waits, with a processor of
// Go's that nobody else has, not even to collect garbage. Then the thread waits again, for a pipe's end, which says that there
// is a program, and comes when execve is through with all it does. And the child resets 56 signal handlers one by one, where
// one flag has the kernel do that (CLONE_CLEAR_SIGHAND). BENCHMARKS.md says what comes of it. With a table every
// descriptor is closed that the command is not to have, and not only those that were there at a last look.
//
// It takes Linux 5.11, and clone3, which seccomp filters such as Docker's may refuse. Without it is syscall.ForkExec; on Android,
// whose filters end who asks for what they do not know, always.

import (
	"errors"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cloneArgs is struct clone_args (man 2 clone).
type cloneArgs struct {
	flags, pidFD, childTID uint64
	_                      uint64 // where the parent is to find the child's number
	exitSignal             uint64
	_                      [5]uint64 // a stack, none of its own; thread-local storage; a number that is asked for
	cgroup                 uint64
}

// forkStep is one system call of a child's.
type forkStep struct {
	number    uintptr
	arguments [6]uintptr
	want      uintptr       // what it is to return; 0 for anything but an error
	result    syscall.Errno // negative, once it has failed
}

// forkSteps forks a child that makes the system calls one after the other, up to the last, execve, and exits if one fails.
// It returns the child's number, at once, or an error's, negative. All signals are to be blocked: the child could not handle any.
// It is in fork_linux_*.s.
func forkSteps(clone *cloneArgs, size uintptr, steps *forkStep) (pid int)

// forking is one fork, with all that the kernel is given the addresses of, for as long as the loan lasts. It must be on the
// heap: stacks move.
type forking struct {
	clone   cloneArgs
	memory  loan
	steps   []forkStep
	pidFD   int32
	blocked unix.Sigset_t // while it is forked
	signals unix.Sigset_t // what the thread, and so the command, has blocked
	limit   unix.Rlimit   // of open files

	program, dir  *byte
	args, environ []*byte
}

// signalSetSize is the size of the kernel's set of signals.
const signalSetSize = 64 / 8

// ownFork forks commands. The zero value is ready. Its methods may be called concurrently.
type ownFork struct {
	impossible atomic.Bool                 // here, as was seen
	openFiles  atomic.Pointer[unix.Rlimit] // what childrensOpenFiles found; nil before
}

// fork is syscall.ForkExec for a command that leads a session and inherits attr.Files, which are open, and no other
// descriptor. Of attr.Sys it heeds Pdeathsig, PidFD, UseCgroupFD and CgroupFD. It reports false, with nothing left of what was done,
// where it is not possible.
func (o *ownFork) fork(path string, args []string, attr *syscall.ProcAttr, how forkCalls) (done bool, err error) {
	if o.impossible.Load() {
		return false, nil
	}
	f := new(forking)
	if f.program, err = syscall.BytePtrFromString(path); err != nil {
		return true, err
	}
	if f.args, err = syscall.SlicePtrFromStrings(args); err != nil {
		return true, err
	}
	if f.environ, err = syscall.SlicePtrFromStrings(attr.Env); err != nil {
		return true, err
	}
	if attr.Dir != "" {
		if f.dir, err = syscall.BytePtrFromString(attr.Dir); err != nil {
			return true, err
		}
	}
	var possible bool
	if f.limit, possible = o.childrensOpenFiles(); !possible || !f.prepare(attr) {
		return false, nil
	}
	pid, err := f.run()
	if err != nil {
		return o.failed(err)
	}
	how.begun(pid)
	how.pause(&f.memory)
	runtime.KeepAlive(f)
	if err := f.outcome(); err != nil {
		unix.Close(int(f.pidFD))
		how.failed(pid)
		return o.failed(err)
	}
	*attr.Sys.PidFD = int(f.pidFD)
	return true, nil
}

// prepare puts the steps together. It reports false if the descriptors cannot be had by moving each just once.
func (f *forking) prepare(attr *syscall.ProcAttr) bool {
	f.clone = cloneArgs{
		flags:      unix.CLONE_VM | unix.CLONE_CHILD_CLEARTID | unix.CLONE_CLEAR_SIGHAND | unix.CLONE_PIDFD,
		pidFD:      uint64(address(&f.pidFD)),
		childTID:   uint64(address(&f.memory.word)),
		exitSignal: uint64(unix.SIGCHLD),
	}
	if attr.Sys.UseCgroupFD {
		f.clone.flags |= unix.CLONE_INTO_CGROUP
		f.clone.cgroup = uint64(attr.Sys.CgroupFD)
	}
	f.steps = make([]forkStep, 0, 10+len(attr.Files))
	f.then(unix.SYS_SETSID)
	f.then(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(attr.Sys.Pdeathsig))
	f.then(unix.SYS_GETPPID)
	f.steps[len(f.steps)-1].want = uintptr(os.Getpid()) // else the signal for the parent's death came too early to be had
	if f.dir != nil {
		f.then(unix.SYS_CHDIR, address(f.dir))
	}
	count := uintptr(len(attr.Files))
	for to, from := range attr.Files {
		if from < count {
			return false
		}
		f.then(unix.SYS_DUP3, from, uintptr(to))
	}
	const last = math.MaxUint32
	f.then(unix.SYS_CLOSE_RANGE, count, last, unix.CLOSE_RANGE_CLOEXEC)
	if f.limit != (unix.Rlimit{}) {
		f.then(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, address(&f.limit))
	}
	f.then(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, address(&f.signals), 0, signalSetSize)
	f.then(unix.SYS_EXECVE, address(f.program), address(&f.args[0]), address(&f.environ[0]))
	return true
}

// then adds a step.
func (f *forking) then(number uintptr, arguments ...uintptr) {
	s := forkStep{number: number}
	copy(s.arguments[:], arguments)
	f.steps = append(f.steps, s)
}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// run forks the child, whose loan begins.
func (f *forking) run() (pid int, err error) {
	for i := range f.blocked.Val {
		f.blocked.Val[i] = math.MaxUint64
	}
	f.memory.begin()
	runtime.LockOSThread() // whose signals are blocked
	defer runtime.UnlockOSThread()
	syscall.ForkLock.Lock() // nobody is about to have a descriptor that is not to be inherited
	defer syscall.ForkLock.Unlock()
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &f.blocked, &f.signals); err != nil {
		return 0, err
	}
	pid = forkSteps(&f.clone, unsafe.Sizeof(f.clone), &f.steps[0])
	unix.PthreadSigmask(unix.SIG_SETMASK, &f.signals, nil)
	if pid < 0 {
		return 0, stepError{errno: syscall.Errno(-pid)}
	}
	return pid, nil
}

// outcome is nil if the child has its program. It is for after the loan.
func (f *forking) outcome() error {
	for _, s := range f.steps {
		if s.result != 0 {
			return stepError{s.number, -s.result}
		}
	}
	return nil
}

// stepError says at which step a child failed, or that there was none.
type stepError struct {
	number uintptr // of the system call
	errno  syscall.Errno
}

func (e stepError) Error() string { return e.errno.Error() }

// failed tells what is wrong with the program or its directory from what syscall.ForkExec can do better, or has to say.
func (o *ownFork) failed(err error) (done bool, _ error) {
	e, _ := errors.AsType[stepError](err)
	switch {
	case e.number == unix.SYS_CHDIR || e.number == unix.SYS_EXECVE:
		return true, e.errno
	case e.errno == unix.ENOSYS || e.errno == unix.EINVAL || e.errno == unix.EPERM:
		o.impossible.Store(true)
	}
	return false, nil
}

// childrensOpenFiles is the limit of open files that commands are to have, zero for this process's own. Go raises the soft
// limit of its process to one below the hard one, and has its children get the old one back, for programs that use select
// (package syscall, rlimit.go); which that was only a child can tell. It reports false if none did.
func (o *ownFork) childrensOpenFiles() (limit unix.Rlimit, ok bool) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		return limit, false
	}
	if own.Cur != own.Max-1 {
		return limit, true
	}
	before := o.openFiles.Load()
	if before == nil {
		inherited, err := inheritedLimit(unix.RLIMIT_NOFILE)
		if err != nil {
			o.impossible.Store(true)
			return limit, false
		}
		before = &inherited
		o.openFiles.Store(before)
	}
	if before.Max != own.Max { // as Go does: somebody has set it since
		return limit, true
	}
	return *before, true
}
