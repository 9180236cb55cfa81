package proc

// This file implements Tree on Windows, with a job object.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// On Windows the command is started suspended, assigned to its own job object, and then resumed. So all its descendants
// are in the job too, in every process group and console, and cannot leave it: the job allows no breakaway. A Tree has
// the job's only handle, and the system ends a job's processes when its last handle is closed, so the tree outlives
// neither Close nor the host. Processes started for it by the task scheduler, a service or WMI are not.
//
// SIGKILL terminates the job. Every other signal is sent as CTRL_BREAK to the leader's process group. CTRL_BREAK is the
// closest thing to a signal that can be sent to a process by its ID on Windows; it goes through the console shared by
// host and command. A host without a console cannot send it, and then End does not wait. The system does not reuse a
// process's ID while a handle to it is open, so the group's ID, which is the leader's, stays valid until Close. A
// command on a PTY has its own console; there every signal but SIGKILL closes the console (pty_windows.go).

var procResumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// pipeSize is the capacity of the output's pipe, in bytes.
const pipeSize = 64 << 10

// Supervisor starts trees. The zero value is ready to use. Its methods are safe for concurrent use, but Close must be
// the last call, after every Tree is closed.
type Supervisor struct {
	busy sync.WaitGroup // the trees' goroutines
}

// Close waits until the Supervisor's goroutines have ended.
func (s *Supervisor) Close() { s.busy.Wait() }

// killedCode is the exit code of processes that this package terminates. The system's own codes do not have bit 29, and
// programs have no reason to choose this code; the 9 is SIGKILL's.
const killedCode = 0xE0000009

// Tree is a started command with all its descendants. Its methods are safe for concurrent use, except that only one
// goroutine at a time may call End or Rest, and that only Close may be called after Close.
type Tree struct {
	common
	process windows.Handle // the leader; see unuse
	reads   bool           // it has a PTY or a Spec.Stdin, whose readers cannot be seen

	mu     sync.Mutex     // held during system calls that do not block
	job    windows.Handle // 0 after Close
	asked  string         // the signal of the last CTRL_BREAK or CTRL_CLOSE, or empty
	killed bool           // the job has been terminated
	unused bool           // unuse has been called once

	trace *trace // of the current End, or nil
}

// Start starts a command in its own job. It returns a syscall.Errno if the program cannot be started, a
// *LimitError if a limit cannot be enforced, errors.ErrUnsupported if spec has a Cgroup, has Files, or has a PTY
// before Windows 10 1809, or another system error.
func (s *Supervisor) Start(ctx context.Context, spec Spec) (*Tree, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t, err := systemCalls().startTree(spec, &s.busy)
	if err != nil {
		return nil, err
	}
	s.busy.Go(t.watch)
	return t, nil
}

// StartCmd starts the caller's command in its own job. The Tree has no output, and the caller calls cmd.Wait after
// Close. StartCmd fails as cmd.Start does, or with a system error.
func (s *Supervisor) StartCmd(cmd *exec.Cmd, _ Mark) (*Tree, error) {
	var sys syscall.SysProcAttr
	if cmd.SysProcAttr != nil {
		sys = *cmd.SysProcAttr
	}
	sys.CreationFlags |= creationFlags()
	cmd.SysProcAttr = &sys
	info, _, err := jobInfoFor(nil)
	if err != nil {
		return nil, err
	}
	t, calls := new(Tree), systemCalls()
	calls.startProcess = func(string, []string, *syscall.ProcAttr) (int, uintptr, error) {
		if err := cmd.Start(); err != nil {
			return 0, 0, err
		}
		process, err := duplicate(cmd.Process)
		if err != nil {
			cmd.Process.Kill()
		}
		return cmd.Process.Pid, process, err
	}
	if err := calls.start(t, info, Spec{}, nil); err != nil {
		t.undo()
		if cmd.Process != nil {
			cmd.Wait()
		}
		return nil, err
	}
	s.busy.Go(t.watch)
	return t, nil
}

func duplicate(p *os.Process) (copied uintptr, err error) {
	self := windows.CurrentProcess()
	handleErr := p.WithHandle(func(handle uintptr) {
		err = windows.DuplicateHandle(self, windows.Handle(handle), self, (*windows.Handle)(&copied), 0, false,
			windows.DUPLICATE_SAME_ACCESS)
	})
	return copied, errors.Join(handleErr, err)
}

func systemCalls() startCalls {
	return startCalls{
		openNull:     func() (*os.File, error) { return os.Open(os.DevNull) },
		outputPipe:   OutputPipe,
		inputPipe:    inputPipe,
		newConsole:   newConsole,
		newJob:       func() (windows.Handle, error) { return windows.CreateJobObject(nil, nil) },
		limitJob:     limitJob,
		startProcess: syscall.StartProcess,
		startOnPTY:   (*pty).startProcess,
		assign:       windows.AssignProcessToJobObject,
		resume:       resumeProcess,
	}
}

// startCalls are the steps of a start, in order. A test makes each of them fail.
type startCalls struct {
	openNull     func() (*os.File, error)                         // without a PTY
	inputPipe    func() (r windows.Handle, w *os.File, err error) // with a PTY
	outputPipe   func() (r *os.File, w windows.Handle, err error)
	newConsole   func(size windows.Coord, input, output windows.Handle) (windows.Handle, error) // with a PTY
	newJob       func() (windows.Handle, error)
	limitJob     func(job windows.Handle, info *jobInfo) error
	startProcess func(path string, args []string, attr *syscall.ProcAttr) (pid int, process uintptr, err error)
	startOnPTY   func(p *pty, path string, args []string, attr *syscall.ProcAttr) (pid int, process uintptr, err error)
	assign       func(job, process windows.Handle) error
	resume       func(process windows.Handle) error
}

// startTree starts a tree. If it fails, it leaves nothing behind.
func (s startCalls) startTree(spec Spec, busy *sync.WaitGroup) (*Tree, error) {
	if spec.Cgroup != "" {
		return nil, fmt.Errorf("cgroups: %w", errors.ErrUnsupported)
	}
	if len(spec.Files) > 0 {
		return nil, fmt.Errorf("inherited files: %w", errors.ErrUnsupported)
	}
	info, enforced, err := jobInfoFor(spec.Limits)
	if err != nil {
		return nil, err
	}
	t := &Tree{common: common{limits: enforced}, reads: spec.PTY != nil || spec.Stdin != nil}
	attr := &syscall.ProcAttr{Dir: spec.Dir, Env: spec.Env, Sys: &syscall.SysProcAttr{CmdLine: spec.CommandLine}}
	if spec.PTY != nil {
		if t.pty, t.output, err = s.openPTY(*spec.PTY, busy); err != nil {
			return nil, err
		}
		// CREATE_NEW_PROCESS_GROUP is not set, because it makes the group ignore CTRL_C.
		attr.Sys.CreationFlags = windows.CREATE_SUSPENDED
		s.startProcess = func(path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
			return s.startOnPTY(t.pty, path, args, attr)
		}
	} else {
		stdin := spec.Stdin
		if stdin == nil {
			if stdin, err = s.openNull(); err != nil {
				return nil, err
			}
			defer stdin.Close()
		}
		output, w, err := s.outputPipe()
		if err != nil {
			return nil, err
		}
		defer windows.CloseHandle(w)
		t.output = output
		attr.Files = []uintptr{stdin.Fd(), uintptr(w), uintptr(w)} // no other handle is inherited
		attr.Sys.CreationFlags = creationFlags()
	}
	if err := s.start(t, info, spec, attr); err != nil {
		t.undo()
		return nil, err
	}
	return t, nil
}

// start creates the job and starts the process in it. It returns the error of startProcess unchanged: a syscall.Errno
// is about the program. It wraps the errors of other steps, because "access denied" of those is not the program's.
func (s startCalls) start(t *Tree, info *jobInfo, spec Spec, attr *syscall.ProcAttr) (err error) {
	if t.job, err = s.newJob(); err != nil {
		return fmt.Errorf("making a job: %w", err)
	}
	if err = s.limitJob(t.job, info); err != nil {
		return fmt.Errorf("limiting the job: %w", err)
	}
	pid, process, err := s.startProcess(spec.Path, spec.Args, attr)
	if err != nil {
		return err
	}
	t.pid, t.process = pid, windows.Handle(process)
	if err = s.assign(t.job, t.process); err != nil {
		return fmt.Errorf("putting the process into its job: %w", err)
	}
	if err = s.resume(t.process); err != nil {
		return fmt.Errorf("resuming the process: %w", err)
	}
	return nil
}

// undo cleans up after a failed start: it ends the process, waits until it is gone, and closes every handle.
func (t *Tree) undo() {
	if t.process != 0 {
		windows.TerminateProcess(t.process, killedCode)
		windows.WaitForSingleObject(t.process, windows.INFINITE)
		windows.CloseHandle(t.process)
	}
	if t.job != 0 {
		windows.CloseHandle(t.job)
	}
	t.output.Close() // before the console, because closing that may wait for a reader
	t.pty.close()
}

// creationFlags returns the flags for CreateProcess: suspended until the process is in its job, and in its own process
// group for CTRL_BREAK. For a host without a console, they prevent that the system creates one, with a window.
func creationFlags() uint32 {
	flags := uint32(windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP)
	if _, err := windows.GetConsoleCP(); err != nil {
		flags |= windows.CREATE_NO_WINDOW
	}
	return flags
}

func resumeProcess(process windows.Handle) error {
	if status, _, _ := procResumeProcess.Call(uintptr(process)); status != 0 {
		return windows.NTStatus(status)
	}
	return nil
}

// OutputPipe returns a pipe whose read end supports deadlines.
func OutputPipe() (r *os.File, w windows.Handle, err error) {
	// Programs query the type of their output. FILE_READ_ATTRIBUTES lets them do so, as with an anonymous pipe.
	return namedPipe("output", windows.PIPE_ACCESS_INBOUND, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES)
}

// namedPipe returns a pipe whose local end supports deadlines; only named pipes do. Each access is in the form that its
// system call expects. No other process can guess the name or connect: the pipe has one instance, and it is taken here.
func namedPipe(name string, ourAccess, otherAccess uint32) (ours *os.File, other windows.Handle, err error) {
	path, err := windows.UTF16PtrFromString(`\\.\pipe\acpterm-` + rand.Text())
	if err != nil {
		return nil, 0, err
	}
	end, err := windows.CreateNamedPipe(path,
		ourAccess|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, pipeSize, pipeSize, 0, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("making a pipe: %w", err)
	}
	other, err = windows.CreateFile(path, otherAccess, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		windows.CloseHandle(end)
		return nil, 0, fmt.Errorf("opening a pipe: %w", err)
	}
	return os.NewFile(uintptr(end), name), other, nil
}

// watch waits for the leader's exit, and reports it.
func (t *Tree) watch() {
	exit, err := t.awaitExit()
	t.pty.hangUp()
	t.mu.Lock()
	t.unuse()
	t.mu.Unlock()
	t.SetExit(exit, err)
}

// unuse closes the leader's handle on its second call, when the wait for the exit is over and the Tree is closed. Until
// then, the handle reserves the leader's process ID.
func (t *Tree) unuse() {
	if t.unused {
		windows.CloseHandle(t.process)
	}
	t.unused = true
}

// awaitExit waits for the leader's exit. It blocks a thread.
func (t *Tree) awaitExit() (Exit, error) {
	var code uint32
	_, err := windows.WaitForSingleObject(t.process, windows.INFINITE)
	if err == nil {
		err = windows.GetExitCodeProcess(t.process, &code)
	}
	if err != nil {
		return Exit{}, fmt.Errorf("waiting for process %d: %w", t.pid, err)
	}
	return t.exitOf(code), nil
}

// exitOf returns how a leader with this exit code ended. On Windows, signals do not end processes. The replacement for
// a signal has its own exit code, which counts as the signal if this package caused it. An exit code chosen by the
// command, in answer to CTRL_BREAK or not, is reported unchanged.
func (t *Tree) exitOf(code uint32) Exit {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.killed && code == killedCode:
		return Exit{Signal: "SIGKILL"}
	case t.asked != "" && code == uint32(windows.STATUS_CONTROL_C_EXIT):
		return Exit{Signal: t.asked}
	}
	return Exit{Code: code}
}

// end implements End. It returns when the tree has no running process, or when ctx is done; it then
// returns the process IDs of the running members. It does not wait if no process can have received the signal.
//
// The job knows its processes, including all descendants.
func (t *Tree) end(ctx context.Context, sig syscall.Signal) (left []int, doubt error) {
	err := t.signal(sig)
	t.trace.sends(sig, "the job: TerminateJobObject for SIGKILL, otherwise CTRL_BREAK or CTRL_CLOSE", 0, err)
	for pause := stepPause; ; pause = min(2*pause, maxPause) {
		members := t.members()
		if len(members) == 0 {
			return nil, nil
		}
		for _, pid := range members {
			t.trace.found(pid, 0, "in the job")
		}
		if err != nil || ctx.Err() != nil {
			if sig == syscall.SIGKILL && t.signal(sig) == nil { // reaches them all, also those started since
				return nil, exiting(members)
			}
			return members, nil
		}
		t.pause(ctx, pause)
	}
}

// Gone reports whether the job has no running process.
func (t *Tree) Gone() bool { return len(t.members()) == 0 }

// signal fails if no process can have received the signal.
func (t *Tree) signal(sig syscall.Signal) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return nil
	}
	if sig == syscall.SIGKILL {
		t.killed = true
		return os.NewSyscallError("TerminateJobObject", windows.TerminateJobObject(t.job, killedCode))
	}
	if len(t.membersLocked()) == 0 {
		return nil
	}
	if t.pty != nil {
		if err := t.pty.hangUp(); err != nil {
			return err
		}
	} else if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.pid)); err != nil {
		return os.NewSyscallError("GenerateConsoleCtrlEvent", err)
	}
	t.asked = askedBy(sig)
	return nil
}

// askedBy returns the POSIX name of the signal that CTRL_BREAK or, on a PTY, CTRL_CLOSE stands for: if none, SIGTERM.
func askedBy(sig syscall.Signal) string {
	switch sig {
	case syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT:
		return SignalName(sig)
	}
	return "SIGTERM"
}

func (t *Tree) members() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.membersLocked()
}

func (t *Tree) membersLocked() []int {
	if t.job == 0 {
		return nil
	}
	// JOBOBJECT_BASIC_PROCESS_ID_LIST: the number of processes, the number of listed ones, and the list.
	const header = 8
	const word = unsafe.Sizeof(uintptr(0))
	for room := uintptr(16); ; room *= 2 {
		buffer := make([]uintptr, header/word+room)
		var pin runtime.Pinner
		pin.Pin(&buffer[0])
		err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicProcessIdList,
			uintptr(unsafe.Pointer(&buffer[0])), uint32(uintptr(len(buffer))*word), nil)
		pin.Unpin()
		if errors.Is(err, windows.ERROR_MORE_DATA) {
			continue
		}
		if err != nil { // unknown, so the tree must not count as gone
			return []int{t.pid}
		}
		listed := (*[2]uint32)(unsafe.Pointer(&buffer[0]))[1]
		var pids []int
		for _, pid := range buffer[header/word:][:listed] {
			pids = append(pids, int(pid))
		}
		return pids
	}
}

// Close terminates the remaining processes of the job, and frees the Tree's resources. It does not wait.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return
	}
	// The system would end the job by itself, but with exit code 0, which means success.
	if !t.HasExited() && windows.TerminateJobObject(t.job, killedCode) == nil {
		t.killed = true
	}
	t.pty.hangUp()
	windows.CloseHandle(t.job)
	t.job = 0
	t.unuse()
}
