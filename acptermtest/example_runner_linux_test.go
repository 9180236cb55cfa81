package acptermtest_test

// A Runner for the namespaces of another process, and how its author tests it.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
)

// Enter is a Runner for Linux. It is the command line that becomes a program somewhere, such as "nsenter --target 42
// --mount --net --", while the program's process is also visible here. A line that waits for the program, like nsenter
// with --pid, needs a Runner that spares the waiting process, such as that of package remote: a signal to the tree would
// end it first.
type Enter []string

// sh runs a script and returns its output and exit code.
func (e Enter) sh(ctx context.Context, script string, args ...string) (out string, code int, err error) {
	line := slices.Concat(e, []string{"sh", "-c", script, "sh"}, args)
	text, err := exec.CommandContext(ctx, line[0], line[1:]...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return "", exit.ExitCode(), nil
	}
	return string(text), 0, err
}

func (e Enter) Base(ctx context.Context) (dir string, env []string, err error) {
	out, _, err := e.sh(ctx, `pwd -P; echo "PATH=$PATH"; echo "HOME=$HOME"`)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return lines[0], lines[1:], err
}

func (e Enter) RealDir(ctx context.Context, dir string) (string, error) {
	out, code, err := e.sh(ctx, `cd -- "$1" 2>/dev/null && pwd -P`, dir)
	if code != 0 {
		return "", &acpterm.Error{Kind: acpterm.ErrInvalidParams, Reason: "there is no such directory"}
	}
	return strings.TrimSuffix(out, "\n"), err
}

// lookPath prints the path of the program $2, which it looks for in the list $3 from the directory $1, and that
// directory.
const lookPath = `cd -- "$1" 2>/dev/null || exit 3
	result=4
	try() {
		[ ! -e "$1" ] || result=5
		[ ! -f "$1" ] || [ ! -x "$1" ] || { realpath -- "$1"; pwd -P; exit 0; }
	}
	case $2 in
	*/*) try "$2" ;;
	*) set -f; IFS=:; for entry in $3; do try "${entry:-.}/$2"; done ;;
	esac
	exit $result`

func (e Enter) LookPath(ctx context.Context, c acpterm.Command) (acpterm.Found, error) {
	var path string
	for _, variable := range c.Env {
		if value, ok := strings.CutPrefix(variable, "PATH="); ok {
			path = value
		}
	}
	out, code, err := e.sh(ctx, lookPath, c.Dir, c.Args[0], path)
	switch code {
	case 0:
	case 3:
		return acpterm.Found{}, &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: "cwd", Reason: "does not exist"}
	case 5:
		return acpterm.Found{}, &acpterm.Error{Kind: acpterm.ErrNotExecutable, Command: c.Args[0]}
	default:
		return acpterm.Found{}, &acpterm.Error{Kind: acpterm.ErrCommandNotFound, Command: c.Args[0]}
	}
	program, dir, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	return acpterm.Found{Path: program, Name: filepath.Base(c.Args[0]), Dir: dir}, err
}

func (e Enter) Start(ctx context.Context, r acpterm.StartRequest) (acpterm.Process, error) {
	if r.Limits != (acpterm.Limits{}) {
		return nil, errors.New("limits cannot be enforced")
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c := r.Command
	program := append([]string{c.Path}, c.Args[1:]...)
	cd := []string{"sh", "-c", `cd -- "$1" && shift && exec env -i -- "$@"`, "sh", c.Dir}
	line := slices.Concat(e, cd, c.Env, program)
	output, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	cmd := exec.Command(line[0], line[1:]...)
	mark := "ACPTERM_TERMINAL=" + lastOf(c.Env, "ACPTERM_TERMINAL=")
	// The line has the mark, so that Signal finds the process from the start. The agent's variables are for the command.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), mark}
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		output.Close()
		return nil, err
	}
	p := &entered{
		cmd: cmd, mark: []byte(mark + "\x00"),
		output: output, to: r.Output,
		exited: make(chan struct{}), gone: make(chan struct{}),
	}
	go p.watch()
	return p, nil
}

func lastOf(env []string, prefix string) (value string) {
	for _, variable := range env {
		if v, ok := strings.CutPrefix(variable, prefix); ok {
			value = v
		}
	}
	return value
}

// entered is a tree: the processes with the mark in their environment, and the descendants of these.
type entered struct {
	cmd    *exec.Cmd
	mark   []byte
	output *os.File
	to     io.WriteCloser
	exited chan struct{} // closed when the command has exited and its output is in to
	gone   chan struct{}

	close sync.Once

	mu     sync.Mutex
	killed bool
}

// watch copies the output until no process is left.
func (p *entered) watch() {
	copied := make(chan error, 1)
	copyAll := func() { _, err := io.Copy(p.to, p.output); copied <- err }
	go copyAll()
	p.cmd.Wait()
	p.output.SetReadDeadline(time.Now()) // stops the copy, so that the rest of the command's own output can be read
	if <-copied != nil {
		p.output.SetReadDeadline(time.Time{})
		p.drain()
		go copyAll()
	} else {
		copied <- nil
	}
	close(p.exited)
	// One look may find none if a process has started another one during it and exited.
	for ended, empty := false, 0; empty < 2; {
		select {
		case <-copied:
			ended = true
		case <-p.gone: // abandoned
			return
		case <-time.After(10 * time.Millisecond):
		}
		p.mu.Lock()
		killed := p.killed
		p.mu.Unlock()
		if killed { // processes may have started since the signal
			p.send(syscall.SIGKILL)
		}
		if empty++; !ended || p.each(func(*os.Process) {}) > 0 {
			empty = 0
		}
	}
	p.Close()
}

// drain reads the bytes that are in the pipe.
func (p *entered) drain() {
	raw, err := p.output.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, 64<<10) // a pipe holds no more
	raw.Read(func(fd uintptr) bool {
		if n, _ := unix.Read(int(fd), buffer); n > 0 {
			p.to.Write(buffer[:n])
		}
		return true
	})
}

// each finds the running processes of the tree, then calls do for each, parents first, and returns their number. Each
// can be signalled safely: a pidfd was opened before the process was identified, and is closed after do.
func (p *entered) each(do func(*os.Process)) (count int) {
	var members []*os.Process
	parents := make(map[int]bool)
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	for _, pid := range pids {
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if running, parent, environ := examine(pid); !running || !parents[parent] && !bytes.Contains(environ, p.mark) {
			process.Release()
			continue
		}
		parents[pid] = true
		members = append(members, process)
	}
	for _, member := range members {
		do(member)
		member.Release()
	}
	return len(members)
}

// examine reads what each needs of a process. In execve, a process has neither an environment nor a command line for
// a moment, so examine looks again. The children of process 2, which are the kernel's, never have them.
func examine(pid int) (running bool, parent int, environ []byte) {
	read := func(name string) []byte {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		return text
	}
	for range 1000 {
		var state string
		stat := read("stat")
		fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent)
		if state == "" || state == "Z" {
			return false, 0, nil
		}
		if environ = read("environ"); len(environ) > 0 || parent == 2 || pid == 2 {
			break
		}
		if len(read("cmdline")) > 0 {
			environ = read("environ") // if execve has ended meanwhile
			break
		}
		time.Sleep(time.Millisecond)
	}
	return true, parent, environ
}

func (p *entered) send(sig syscall.Signal) {
	p.each(func(member *os.Process) {
		if member.Signal(sig) == nil && sig != syscall.SIGKILL {
			member.Signal(syscall.SIGCONT) // a stopped process then receives it, too
		}
	})
}

func (p *entered) Signal(sig syscall.Signal) {
	p.mu.Lock()
	p.killed = p.killed || sig == syscall.SIGKILL
	p.mu.Unlock()
	p.send(sig)
}

func (p *entered) Wait() (acpterm.TerminalExitStatus, error) {
	select {
	case <-p.exited:
	case <-p.gone:
	}
	if !p.hasExited() {
		return acpterm.TerminalExitStatus{}, &acpterm.Error{Kind: acpterm.ErrExitLost}
	}
	state := p.cmd.ProcessState
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return acpterm.TerminalExitStatus{Signal: new(unix.SignalName(status.Signal()))}, nil
	}
	return acpterm.TerminalExitStatus{ExitCode: new(uint32(state.ExitCode()))}, nil
}

func (p *entered) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *entered) Gone() <-chan struct{}           { return p.gone }
func (p *entered) Err() error                      { return nil }
func (p *entered) PID() int                        { return p.cmd.Process.Pid }
func (p *entered) Limits() []acpterm.EnforcedLimit { return nil }

// Close is called by watch, too.
func (p *entered) Close() {
	p.close.Do(func() {
		p.output.Close()
		p.to.Close()
		close(p.gone)
	})
}

// TestEnter is the whole test of the Runner above. The line "env" stays here, so that the test needs no rights.
func TestEnter(t *testing.T) {
	newRunner := func(testing.TB) acpterm.Runner { return Enter{"env"} }
	acptermtest.TestRunner(t, newRunner, &acptermtest.RunnerGaps{
		Limits:  []string{"CPUTime", "Memory", "Processes", "OpenFiles", "FileSize", "Nice"},
		Pins:    true,
		Daemons: true,
	})
}
