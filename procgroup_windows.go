package acpterm

// Windows: the command is a direct child, and it alone is ended. Its output pipe is a named one, since
// only those can be read with a deadline.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// procGroup is a started command. procgroup.go says what its methods promise.
type procGroup struct {
	process *os.Process
	exited  chan struct{} // closed when it has exited
}

func startGroup(c Command) (_ *procGroup, output *os.File, err error) {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, startError(c, err)
	}
	defer stdin.Close()
	output, w, err := outputPipe()
	if err != nil {
		return nil, nil, startError(c, err)
	}
	defer w.Close()

	attr := &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if c.ShellLine != "" {
		// cmd.exe takes what stands between the first and the last quote as it is (/s).
		attr.CmdLine = fmt.Sprintf(`%s "%s"`, strings.Join(c.Args[:len(c.Args)-1], " "), c.ShellLine)
	}
	process, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: []*os.File{stdin, w, w}, Sys: attr,
	})
	if err != nil {
		output.Close()
		return nil, nil, startError(c, err)
	}
	return &procGroup{process: process, exited: make(chan struct{})}, output, nil
}

// pipeNumber keeps the names of this process's pipes apart.
var pipeNumber atomic.Uint64

// outputPipe returns a pipe whose reading end supports deadlines.
func outputPipe() (r, w *os.File, err error) {
	name, err := windows.UTF16PtrFromString(fmt.Sprintf(`\\.\pipe\acpterm-%d-%d`, os.Getpid(), pipeNumber.Add(1)))
	if err != nil {
		return nil, nil, err
	}
	reading, err := windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS, 1, maxReserve, maxReserve, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	writing, err := windows.CreateFile(name, windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		windows.CloseHandle(reading)
		return nil, nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(reading), "output"), os.NewFile(uintptr(writing), "output"), nil
}

func (g *procGroup) awaitExit() (exit, error) {
	state, err := g.process.Wait()
	if err != nil {
		return exit{}, err
	}
	close(g.exited)
	return exit{code: uint32(state.ExitCode())}, nil
}

// signal ends the command. Windows has no other signal that any command would hear.
func (g *procGroup) signal(syscall.Signal) error {
	if err := g.process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (g *procGroup) awaitGone(ctx context.Context) []int {
	select {
	case <-g.exited:
		return nil
	case <-ctx.Done():
		return []int{g.process.Pid}
	}
}

func (g *procGroup) close() {}

var procPeekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

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

func isExecFormat(err error) bool { return errors.Is(err, windows.ERROR_BAD_EXE_FORMAT) }
