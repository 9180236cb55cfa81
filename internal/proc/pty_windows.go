package proc

// This file implements a PTY on Windows, as a pseudo console (ConPTY, since Windows 10 1809). A system process,
// conhost.exe, serves it: it writes the programs' console output to one pipe, as text and escape sequences, and reads
// keyboard input from another pipe. CreatePseudoConsole starts it outside the command's job. It ends when the console
// is closed and no process has it open; the output's pipe ends with it.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var procCreatePseudoConsole = windows.NewLazySystemDLL("kernel32.dll").NewProc("CreatePseudoConsole")

// pty is the part of a pseudo console that a Tree keeps. Its methods are safe for concurrent use.
type pty struct {
	input *os.File        // keyboard input; closed after the console, which would take its end as a hang-up
	busy  *sync.WaitGroup // the Supervisor's wait group

	mu      sync.Mutex     // held during system calls that do not block
	console windows.Handle // 0 after hangUp or close
}

// openPTY creates a pseudo console. output is the read end of its output's pipe.
func (s startCalls) openPTY(size Size, busy *sync.WaitGroup) (p *pty, output *os.File, err error) {
	typed, input, err := s.inputPipe()
	if err != nil {
		return nil, nil, err
	}
	defer windows.CloseHandle(typed) // conhost.exe has its own handles
	output, shown, err := s.outputPipe()
	if err != nil {
		input.Close()
		return nil, nil, err
	}
	defer windows.CloseHandle(shown)
	p = &pty{input: input, busy: busy}
	if p.console, err = s.newConsole(coord(size), typed, shown); err != nil {
		input.Close()
		output.Close()
		return nil, nil, fmt.Errorf("making a pseudo console: %w", err)
	}
	return p, output, nil
}

// inputPipe returns a pipe whose write end supports deadlines.
func inputPipe() (r windows.Handle, w *os.File, err error) {
	w, r, err = namedPipe("input", windows.PIPE_ACCESS_OUTBOUND, windows.GENERIC_READ)
	return r, w, err
}

func newConsole(size windows.Coord, input, output windows.Handle) (console windows.Handle, err error) {
	if err := available(procCreatePseudoConsole); err != nil {
		return 0, err
	}
	err = windows.CreatePseudoConsole(size, input, output, 0, &console)
	return console, err
}

// available fails if this Windows does not have the function. Calling it would then panic.
func available(function *windows.LazyProc) error {
	if function.Find() != nil {
		return fmt.Errorf("this Windows has none, it is older than Windows 10 1809: %w", errors.ErrUnsupported)
	}
	return nil
}

// coord converts a size to the system's form, which has signed numbers.
func coord(size Size) windows.Coord {
	const most = 1<<15 - 1
	return windows.Coord{X: int16(min(size.Columns, most)), Y: int16(min(size.Rows, most))}
}

// startProcess is like syscall.StartProcess, for a process on the console. The process inherits no handle. The error is
// a syscall.Errno if it is about the program.
func (p *pty) startProcess(path string, args []string, attr *syscall.ProcAttr) (pid int, process uintptr, err error) {
	list, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return 0, 0, fmt.Errorf("making a list of attributes: %w", err)
	}
	defer list.Delete()
	// The attribute's value is the console itself, not a pointer to it.
	value := *(*unsafe.Pointer)(unsafe.Pointer(&p.console))
	err = list.Update(windows.PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, value, unsafe.Sizeof(p.console))
	if err != nil {
		return 0, 0, fmt.Errorf("giving the process its console: %w", err)
	}
	info := windows.StartupInfoEx{ProcThreadAttributeList: list.List()}
	info.Cb = uint32(unsafe.Sizeof(info))
	info.Flags = windows.STARTF_USESTDHANDLES // no handles; otherwise it would get this process's files and pipes
	program, line, dir, err := startStrings(path, args, attr)
	if err != nil {
		return 0, 0, err
	}
	env, err := environmentBlock(attr.Env)
	if err != nil {
		return 0, 0, err
	}
	const flags = windows.EXTENDED_STARTUPINFO_PRESENT | windows.CREATE_UNICODE_ENVIRONMENT
	var started windows.ProcessInformation
	err = windows.CreateProcess(program, line, nil, nil, false, attr.Sys.CreationFlags|flags, &env[0], dir,
		&info.StartupInfo, &started)
	if err != nil {
		return 0, 0, err
	}
	windows.CloseHandle(started.Thread)
	return int(started.ProcessId), uintptr(started.Process), nil
}

// startStrings returns the strings for CreateProcess, made as by syscall.StartProcess.
func startStrings(path string, args []string, attr *syscall.ProcAttr) (program, line, dir *uint16, err error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(attr.Dir, path)
	}
	text := attr.Sys.CmdLine
	if text == "" {
		escaped := make([]string, len(args))
		for i, arg := range args {
			escaped[i] = syscall.EscapeArg(arg)
		}
		text = strings.Join(escaped, " ")
	}
	if program, err = windows.UTF16PtrFromString(path); err != nil {
		return nil, nil, nil, err
	}
	if line, err = windows.UTF16PtrFromString(text); err != nil {
		return nil, nil, nil, err
	}
	if attr.Dir != "" {
		dir, err = windows.UTF16PtrFromString(attr.Dir)
	}
	return program, line, dir, err
}

// environmentBlock returns an environment in the form of CreateProcess: sorted by name without regard to case, each
// variable terminated by a NUL, and the whole block by another one. The drives' directories ("=C:") come first.
func environmentBlock(env []string) (block []uint16, err error) {
	name := func(variable string) string {
		name, _, _ := strings.Cut(variable, "=")
		return strings.ToUpper(name)
	}
	env = slices.Clone(env)
	slices.SortStableFunc(env, func(a, b string) int { return strings.Compare(name(a), name(b)) })
	for _, variable := range env {
		text, err := windows.UTF16FromString(variable)
		if err != nil {
			return nil, err
		}
		block = append(block, text...)
	}
	if len(env) == 0 {
		block = append(block, 0)
	}
	return append(block, 0), nil
}

// hangUp closes the console. Its processes get CTRL_CLOSE_EVENT, and the system ends those still running after five
// seconds. The rest of the output is written, and the output ends. Blocked writes end. hangUp fails with os.ErrClosed
// if the console is already closed.
func (p *pty) hangUp() error {
	console := p.take()
	if console == 0 {
		return os.ErrClosed
	}
	p.busy.Go(func() { p.closeConsole(console) })
	return nil
}

// close is like hangUp, for a command that did not start. It waits until the console is closed.
func (p *pty) close() {
	if console := p.take(); console != 0 {
		p.closeConsole(console)
	}
}

// take returns the console to its first caller, which must close it. Other callers get 0.
func (p *pty) take() (console windows.Handle) {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	console, p.console = p.console, 0
	if console != 0 {
		p.input.SetWriteDeadline(time.Unix(1, 0))
	}
	return console
}

// closeConsole closes the console. Before Windows 11 24H2 it waits until conhost.exe has ended: when no process has the
// console open, and the output has been read or its read end is closed.
func (p *pty) closeConsole(console windows.Handle) {
	windows.ClosePseudoConsole(console)
	p.input.Close()
}

func (p *pty) write(b []byte) (int, error) {
	n, err := p.input.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) { // set by take
		err = os.ErrClosed
	}
	return n, err
}

func (p *pty) resize(size Size) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.console == 0 {
		return os.ErrClosed
	}
	if err := windows.ResizePseudoConsole(p.console, coord(size)); err != nil {
		return fmt.Errorf("resizing a pseudo console: %w", err)
	}
	return nil
}
