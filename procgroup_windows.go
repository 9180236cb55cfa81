package acpterm

// A process tree on Windows: the command is started suspended, put into a Job Object of its own, and only then
// let go. So all that it starts is in the job too, whatever process group or console it is given, and nothing
// can leave: the job allows no breakaway. This package holds the job's only handle, and the system ends what is
// in a job when its last handle is closed; so the tree outlives neither close nor the host.
//
// Not in the job is what a command has somebody else start: the task scheduler, a service, WMI.
//
// # Signals
//
// SIGKILL terminates the job. Every other signal is CTRL_BREAK for the leader's process group, the only thing
// like a signal that a process on Windows can be sent by its number; it goes through the console that host and
// command share. A host without a console cannot send it, and then nobody waits for what it might do.
//
// A process keeps its number as long as somebody holds a handle of it, so the group's number, which is the
// leader's, is nobody else's until close.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32           = windows.NewLazySystemDLL("kernel32.dll")
	procPeekNamedPipe  = kernel32.NewProc("PeekNamedPipe")
	procIsProcessInJob = kernel32.NewProc("IsProcessInJob")
	procResumeProcess  = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")
)

// killedCode is the exit code of what this package terminates. No program would choose it: bit 29 keeps it
// apart from the system's own codes, and the 9 is SIGKILL's.
const killedCode = 0xE0000009

// procGroup is a started tree. procgroup.go says what its methods promise.
type procGroup struct {
	pid     int            // the leader's number, and its process group's
	process windows.Handle // the leader; closed when it has exited and close was called
	exited  chan struct{}  // closed when it has exited
	output  *os.File       // the reading end of its output

	enforced []EnforcedLimit

	mu     sync.Mutex     // held over system calls that do not block
	job    windows.Handle // 0 after close
	asked  string         // the signal that CTRL_BREAK stood for last; empty if none was sent
	killed bool           // the job was terminated
}

func startGroup(c Command, o groupOptions) (*procGroup, error) { return systemCalls().startGroup(c, o) }

func systemCalls() startCalls {
	return startCalls{
		openNull:     func() (*os.File, error) { return os.Open(os.DevNull) },
		outputPipe:   outputPipe,
		newJob:       func() (windows.Handle, error) { return windows.CreateJobObject(nil, nil) },
		limitJob:     limitJob,
		startProcess: syscall.StartProcess,
		assign:       windows.AssignProcessToJobObject,
		resume:       resumeProcess,
	}
}

// startCalls are a start's steps, in their order. A test makes each fail.
type startCalls struct {
	openNull     func() (*os.File, error)
	outputPipe   func() (r *os.File, w windows.Handle, err error)
	newJob       func() (windows.Handle, error)
	limitJob     func(job windows.Handle, info *jobInfo) error
	startProcess func(path string, args []string, attr *syscall.ProcAttr) (pid int, process uintptr, err error)
	assign       func(job, process windows.Handle) error
	resume       func(process windows.Handle) error
}

// startGroup starts a tree, or leaves nothing of it.
func (s startCalls) startGroup(c Command, o groupOptions) (_ *procGroup, err error) {
	path, line, err := commandLine(c)
	if err != nil {
		return nil, err
	}
	if o.cgroup != "" {
		return nil, startError(c, errors.New("cgroups are of Linux"))
	}
	if len(o.files) > 0 {
		return nil, startError(c, errors.New("a command inherits no files on Windows"))
	}
	info, enforced, err := jobInfoFor(o.limits)
	if err != nil {
		return nil, err
	}
	stdin, err := s.openNull()
	if err != nil {
		return nil, startError(c, err)
	}
	defer stdin.Close()
	output, w, err := s.outputPipe()
	if err != nil {
		return nil, startError(c, err)
	}
	defer windows.CloseHandle(w)

	g := &procGroup{exited: make(chan struct{}), output: output, enforced: enforced}
	if err = s.start(g, info, path, c, &syscall.ProcAttr{
		Dir:   c.Dir,
		Env:   withSystemRoot(c.Env),
		Files: []uintptr{stdin.Fd(), uintptr(w), uintptr(w)}, // no other handle is inherited
		Sys:   &syscall.SysProcAttr{CmdLine: line, CreationFlags: creationFlags()},
	}); err != nil {
		g.undo()
		return nil, startError(c, err)
	}
	return g, nil
}

// start makes the job and, in it, the process. Only a failure of startProcess says something of the program;
// startError must not take another step's "access denied" for one.
func (s startCalls) start(g *procGroup, info *jobInfo, path string, c Command, attr *syscall.ProcAttr) (err error) {
	if g.job, err = s.newJob(); err != nil {
		return fmt.Errorf("making a job: %w", err)
	}
	if err = s.limitJob(g.job, info); err != nil {
		return fmt.Errorf("limiting the job: %w", err)
	}
	pid, process, err := s.startProcess(path, c.Args, attr)
	if err != nil {
		return err
	}
	g.pid, g.process = pid, windows.Handle(process)
	if err = s.assign(g.job, g.process); err != nil {
		return fmt.Errorf("putting the process into its job: %w", err)
	}
	if err = s.resume(g.process); err != nil {
		return fmt.Errorf("resuming the process: %w", err)
	}
	return nil
}

// undo ends what a start has come to, in the job or not yet, and returns when it is gone.
func (g *procGroup) undo() {
	if g.process != 0 {
		windows.TerminateProcess(g.process, killedCode)
		windows.WaitForSingleObject(g.process, windows.INFINITE)
		windows.CloseHandle(g.process)
	}
	if g.job != 0 {
		windows.CloseHandle(g.job)
	}
	g.output.Close()
}

// creationFlags: suspended until it is in its job, and a process group for CTRL_BREAK. A host without a console
// has none to share, and a console window of the command's own must not pop up.
func creationFlags() uint32 {
	flags := uint32(windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP)
	if _, err := windows.GetConsoleCP(); err != nil {
		flags |= windows.CREATE_NO_WINDOW
	}
	return flags
}

// resumeProcess lets the threads of a suspended process run.
func resumeProcess(process windows.Handle) error {
	if status, _, _ := procResumeProcess.Call(uintptr(process)); status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

// outputPipe returns a pipe whose reading end supports deadlines, which only a named one does. The name cannot
// be guessed, and nobody else can connect: there is one instance, and it is taken here.
func outputPipe() (r *os.File, w windows.Handle, err error) {
	name, err := windows.UTF16PtrFromString(`\\.\pipe\acpterm-` + rand.Text())
	if err != nil {
		return nil, 0, err
	}
	reading, err := windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, maxReserve, maxReserve, 0, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("making a pipe: %w", err)
	}
	// Programs ask what their output is: FILE_READ_ATTRIBUTES lets them, as an anonymous pipe would.
	w, err = windows.CreateFile(name, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		windows.CloseHandle(reading)
		return nil, 0, fmt.Errorf("opening a pipe: %w", err)
	}
	return os.NewFile(uintptr(reading), "output"), w, nil
}

func (g *procGroup) onExit(busy *sync.WaitGroup, f func(exit, error)) {
	busy.Go(func() { f(g.awaitExit()) })
}

// awaitExit blocks a thread.
func (g *procGroup) awaitExit() (exit, error) {
	defer g.markExited()
	var code uint32
	_, err := windows.WaitForSingleObject(g.process, windows.INFINITE)
	if err == nil {
		err = windows.GetExitCodeProcess(g.process, &code)
	}
	if err != nil {
		return exit{}, fmt.Errorf("waiting for process %d: %w", g.pid, err)
	}
	return g.exitOf(code), nil
}

func (g *procGroup) markExited() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.exited)
	if g.job == 0 {
		windows.CloseHandle(g.process)
	}
}

// exitOf is how a leader ended that left this code. Windows has no exits by a signal; what stands for a signal
// here leaves a code of its own, and counts as that signal when this package did it. A code that the command
// chose, in answer to CTRL_BREAK or not, is reported as it is.
func (g *procGroup) exitOf(code uint32) exit {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.killed && code == killedCode:
		return exit{signal: "SIGKILL"}
	case g.asked != "" && code == uint32(windows.STATUS_CONTROL_C_EXIT):
		return exit{signal: g.asked}
	}
	return exit{code: code}
}

// end sends a signal to the whole tree, then waits for one process of the job after the other, until a look finds
// none. What those have started meanwhile, the next look finds. It does not wait for a signal to be heeded that
// nobody can have heard.
func (g *procGroup) end(ctx context.Context, sig syscall.Signal) (gone bool, left []int) {
	err := g.signal(sig)
	for {
		members := g.members()
		if len(members) == 0 {
			return true, nil
		}
		if err != nil || ctx.Err() != nil {
			return false, members
		}
		g.awaitMember(ctx, members[0])
	}
}

// signal fails when nobody can hear it.
func (g *procGroup) signal(sig syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return nil
	}
	if sig == syscall.SIGKILL {
		g.killed = true
		return os.NewSyscallError("TerminateJobObject", windows.TerminateJobObject(g.job, killedCode))
	}
	if len(g.membersLocked()) == 0 {
		return nil
	}
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.pid)); err != nil {
		return os.NewSyscallError("GenerateConsoleCtrlEvent", err)
	}
	g.asked = signalName(sig)
	return nil
}

// signalName is the POSIX name of a signal that asks a process to end. The number of another one is no more
// than such a request here.
func signalName(sig syscall.Signal) string {
	switch sig {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGQUIT:
		return "SIGQUIT"
	}
	return "SIGTERM"
}

// awaitMember returns when a process is no running member of the job, or the context has ended.
func (g *procGroup) awaitMember(ctx context.Context, pid int) {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return // it is gone
	}
	if err == nil {
		defer windows.CloseHandle(process)
		if !g.isMember(process) { // the number had changed hands
			return
		}
		err = waitFor(ctx, process)
	}
	if err != nil { // a process that is kept from this one, or no handles left: look again in a while
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// waitFor returns when a process has exited or the context has ended.
func waitFor(ctx context.Context, process windows.Handle) error {
	cancelled, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(cancelled)
	set := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		windows.SetEvent(cancelled)
		close(set)
	})
	_, err = windows.WaitForMultipleObjects([]windows.Handle{process, cancelled}, false, windows.INFINITE)
	if !stop() {
		<-set // it still uses the handle
	}
	return err
}

// isMember reports whether a process is in the job.
func (g *procGroup) isMember(process windows.Handle) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return false
	}
	var is int32
	procIsProcessInJob.Call(uintptr(process), uintptr(g.job), uintptr(unsafe.Pointer(&is)))
	return is != 0
}

// members are the running processes of the job.
func (g *procGroup) members() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.membersLocked()
}

func (g *procGroup) membersLocked() []int {
	if g.job == 0 {
		return nil
	}
	// JOBOBJECT_BASIC_PROCESS_ID_LIST: how many there are, how many are listed here, and those.
	const header = 8
	for size := uintptr(firstLook); ; size *= 2 {
		buffer := make([]uintptr, header/unsafe.Sizeof(uintptr(0))+size)
		var pin runtime.Pinner
		pin.Pin(&buffer[0])
		err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicProcessIdList,
			uintptr(unsafe.Pointer(&buffer[0])), uint32(uintptr(len(buffer))*unsafe.Sizeof(uintptr(0))), nil)
		pin.Unpin()
		if errors.Is(err, windows.ERROR_MORE_DATA) {
			continue
		}
		if err != nil { // not to be expected; what may still run must not pass for gone
			return []int{g.pid}
		}
		listed := (*[2]uint32)(unsafe.Pointer(&buffer[0]))[1]
		var pids []int
		for _, pid := range buffer[header/unsafe.Sizeof(uintptr(0)):][:listed] {
			pids = append(pids, int(pid))
		}
		return pids
	}
}

// firstLook is how many processes a first look at a job has room for.
const firstLook = 16

// close gives up the job, and with it whatever still runs in it. The leader's number is its own until then.
func (g *procGroup) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return
	}
	windows.CloseHandle(g.job)
	g.job = 0
	select {
	case <-g.exited:
		windows.CloseHandle(g.process)
	default: // awaitExit is waiting for it
	}
}

// isGone leaves it to end.
func (g *procGroup) isGone() bool { return false }

func (g *procGroup) source(ring *ringBuffer, hot *hotPipes) source {
	return newCapture(g.output, ring, hot)
}

// trees is Linux's; a job needs to know of no other.
type trees struct{}

func (*trees) open(*loop) {}
func (*trees) close()     {}

// inherited is the Unixes'; here a command's handles are listed when it is started.
type inherited struct{}

func (*inherited) close() {}

// readPipe reads what lies in a pipe, or waits for it. A program that writes no bytes at all is read here as no
// bytes, which os.File takes for the end; the pipe itself knows better.
func readPipe(pipe *os.File, p []byte) (n int, err error) {
	for {
		n, err = pipe.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if _, ended := unread(pipe); ended != nil {
			return n, err
		}
	}
}

// unread is how many bytes lie in a pipe.
func unread(pipe *os.File) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(handle uintptr) {
		var available uint32
		if ok, _, errno := procPeekNamedPipe.Call(handle, 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0); ok == 0 {
			err = os.NewSyscallError("PeekNamedPipe", errno)
		}
		n = int(available)
	})
	return n, errors.Join(controlErr, err)
}

// isExecFormat reports that a file is no program that this system runs, or not for this user.
func isExecFormat(err error) bool {
	return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) || errors.Is(err, windows.ERROR_EXE_MACHINE_TYPE_MISMATCH) ||
		errors.Is(err, windows.ERROR_ELEVATION_REQUIRED)
}
