package acpterm

// A start on Windows with each of its steps failing in turn, and what else is below Terminal.

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// shellLine is the command for a line of cmd.exe's.
func shellLine(t *testing.T, line string) Command {
	t.Helper()
	c, err := (&Options{Shell: ShellAlways}).resolve(t.Context(), CreateTerminalRequest{SessionID: "s", Command: line})
	require.NoError(t, err)
	return c
}

// sleeper is a command that ends by no means of its own: a child of children_test.go.
func sleeper(t *testing.T) Command {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return Command{Path: path, Args: []string{path, "acpterm-test-child", "sleep-silently"}, Dir: t.TempDir(), Env: os.Environ()}
}

// Whichever step of a start fails: nothing runs, nothing has run, and no handle is open.
func TestStartThatFailsLeavesNothing(t *testing.T) {
	refused := windows.ERROR_ACCESS_DENIED // which must not pass for the program's, unless it is
	steps := map[string]func(*startCalls){
		"openNull": func(s *startCalls) { s.openNull = func() (*os.File, error) { return nil, errors.New("injected") } },
		"outputPipe": func(s *startCalls) {
			s.outputPipe = func() (*os.File, windows.Handle, error) { return nil, 0, errors.New("injected") }
		},
		"newJob":   func(s *startCalls) { s.newJob = func() (windows.Handle, error) { return 0, refused } },
		"limitJob": func(s *startCalls) { s.limitJob = func(windows.Handle, *jobInfo) error { return refused } },
		"startProcess": func(s *startCalls) {
			s.startProcess = func(string, []string, *syscall.ProcAttr) (int, uintptr, error) { return 0, 0, refused }
		},
		"assign": func(s *startCalls) { s.assign = func(windows.Handle, windows.Handle) error { return refused } },
		"resume": func(s *startCalls) { s.resume = func(windows.Handle) error { return refused } },
	}
	warmUp, err := startGroup(shellLine(t, "exit 0"), groupOptions{}) // what a first time costs is paid
	require.NoError(t, err)
	warmUp.awaitExit()
	warmUp.close()
	warmUp.output.Close()

	for step, fail := range steps {
		t.Run(step, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ran")
			command := shellLine(t, `echo x>"`+file+`"`)
			calls, started := systemCalls(), windows.Handle(0)
			calls.startProcess = func(path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
				pid, process, err := syscall.StartProcess(path, args, attr)
				require.NoError(t, err)
				self := windows.CurrentProcess()
				require.NoError(t, windows.DuplicateHandle(self, windows.Handle(process), self, &started, windows.SYNCHRONIZE, false, 0))
				return pid, process, nil
			}
			fail(&calls)

			before := OpenHandles()
			g, err := calls.startGroup(command, groupOptions{})
			require.Nil(t, g)
			wrong, ok := errors.AsType[*Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, step == "startProcess", wrong.Kind == ErrNotExecutable, "%v", err)
			require.Equal(t, step == "assign" || step == "resume", started != 0)
			if started != 0 {
				event, err := windows.WaitForSingleObject(started, 0)
				require.NoError(t, err)
				require.Equal(t, uint32(windows.WAIT_OBJECT_0), event, "the process runs on")
				windows.CloseHandle(started)
			}
			require.Equal(t, before, OpenHandles())
			require.NoFileExists(t, file)
		})
	}
}

// The command's first instruction is one in the job.
func TestTheJobComesBeforeTheFirstInstruction(t *testing.T) {
	var steps []string
	calls := systemCalls()
	calls.startProcess = func(path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
		require.NotZero(t, attr.Sys.CreationFlags&windows.CREATE_SUSPENDED)
		steps = append(steps, "start")
		return syscall.StartProcess(path, args, attr)
	}
	calls.assign = func(job, process windows.Handle) error {
		steps = append(steps, "assign")
		return windows.AssignProcessToJobObject(job, process)
	}
	calls.resume = func(process windows.Handle) error {
		steps = append(steps, "resume")
		return resumeProcess(process)
	}
	g, err := calls.startGroup(sleeper(t), groupOptions{})
	require.NoError(t, err)
	defer g.output.Close()
	require.Equal(t, []string{"start", "assign", "resume"}, steps)
	require.True(t, g.isMember(g.process))
	require.False(t, g.isMember(windows.CurrentProcess()))
	g.close()
	g.awaitExit()
}

func TestCgroupIsRefused(t *testing.T) {
	_, err := startGroup(shellLine(t, "exit 0"), groupOptions{cgroup: "x"})
	require.ErrorIs(t, err, ErrInternal)
}

// A code stands for a signal only if this package can have caused it.
func TestExitOf(t *testing.T) {
	const controlC = uint32(windows.STATUS_CONTROL_C_EXIT)
	for _, c := range []struct {
		group *procGroup
		code  uint32
		want  exit
	}{
		{&procGroup{}, 0, exit{code: 0}},
		{&procGroup{}, 0xC0000005, exit{code: 0xC0000005}},
		{&procGroup{}, killedCode, exit{code: killedCode}},
		{&procGroup{}, controlC, exit{code: controlC}},
		{&procGroup{killed: true}, killedCode, exit{signal: "SIGKILL"}},
		{&procGroup{killed: true}, controlC, exit{code: controlC}},
		{&procGroup{killed: true}, 7, exit{code: 7}},
		{&procGroup{asked: "SIGTERM"}, controlC, exit{signal: "SIGTERM"}},
		{&procGroup{asked: "SIGINT"}, controlC, exit{signal: "SIGINT"}},
		{&procGroup{asked: "SIGTERM"}, 7, exit{code: 7}},
		{&procGroup{asked: "SIGTERM", killed: true}, killedCode, exit{signal: "SIGKILL"}},
	} {
		require.Equal(t, c.want, c.group.exitOf(c.code))
	}
	require.Equal(t, "SIGTERM", signalName(syscall.SIGTERM))
	require.Equal(t, "SIGINT", signalName(syscall.SIGINT))
}

// end says who is left when its context ends first; a closed tree has nobody, and signals reach nobody.
func TestEndSaysWhoIsLeft(t *testing.T) {
	g, err := startGroup(sleeper(t), groupOptions{})
	require.NoError(t, err)
	defer g.output.Close()
	exited := make(chan exit, 1)
	go func() { e, _ := g.awaitExit(); exited <- e }()

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	gone, left := g.end(ended, syscall.SIGTERM)
	require.False(t, gone)
	require.Contains(t, left, g.pid)
	gone, left = g.end(t.Context(), syscall.SIGKILL)
	require.True(t, gone)
	require.Empty(t, left)
	require.Equal(t, exit{signal: "SIGKILL"}, <-exited)
	g.close()
	gone, _ = g.end(t.Context(), syscall.SIGKILL)
	require.True(t, gone)
	g.close()
}

// A tree that is closed is ended, by the system.
func TestCloseEndsTheJob(t *testing.T) {
	g, err := startGroup(sleeper(t), groupOptions{})
	require.NoError(t, err)
	defer g.output.Close()
	g.close()
	_, err = g.awaitExit() // comes back
	require.NoError(t, err)
}

// What capture needs of a pipe: a read that waits is interrupted by a deadline, loses nothing by it, goes on
// after it, and ends when the last writer is gone.
func TestOutputPipe(t *testing.T) {
	r, w, err := outputPipe()
	require.NoError(t, err)
	defer r.Close()
	write := func(text string) {
		var n uint32
		require.NoError(t, windows.WriteFile(w, []byte(text), &n, nil))
		require.Equal(t, len(text), int(n))
	}
	buffer := make([]byte, 100)
	for range 100 {
		read := make(chan error)
		go func() { _, err := r.Read(buffer); read <- err }()
		require.NoError(t, r.SetReadDeadline(time.Unix(1, 0)))
		require.ErrorIs(t, <-read, os.ErrDeadlineExceeded)
		require.NoError(t, r.SetReadDeadline(time.Time{}))
	}
	write("one")
	n, err := unread(r)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	n, err = r.Read(buffer)
	require.NoError(t, err)
	require.Equal(t, "one", string(buffer[:n]))
	write("two")
	require.True(t, HasWriter(r))
	require.NoError(t, windows.CloseHandle(w))
	n, err = r.Read(buffer)
	require.NoError(t, err)
	require.Equal(t, "two", string(buffer[:n]))
	_, err = r.Read(buffer)
	require.ErrorIs(t, err, io.EOF)
	require.False(t, HasWriter(r))
}
