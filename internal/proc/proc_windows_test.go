package proc

// These tests make each step of a start on Windows fail in turn, and check a Tree's job, signals and pipe.

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/acpterm/acpterm/internal/wintest"
)

// childVariable makes the test binary a command that only sleeps until it is terminated. With the value "listen", it
// also listens, and prints the address.
const childVariable = "ACPTERM_TEST_SLEEP"

func init() {
	if os.Getenv(childVariable) == "listen" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		fmt.Println(l.Addr(), err)
	}
	if os.Getenv(childVariable) != "" {
		time.Sleep(5 * time.Minute)
		os.Exit(0)
	}
}

// sleeper returns a command that does not end by itself.
func sleeper(t *testing.T) Spec {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return Spec{Path: path, Args: []string{path}, Dir: os.TempDir(), Env: append(os.Environ(), childVariable+"=1")}
}

// shellLine returns a command that runs a line with cmd.exe.
func shellLine(t *testing.T, line string) Spec {
	t.Helper()
	system, err := windows.GetSystemDirectory()
	require.NoError(t, err)
	return Spec{
		Path: filepath.Join(system, "cmd.exe"), Args: []string{"cmd.exe"},
		CommandLine: `cmd.exe /d /s /c "` + line + `"`, Dir: os.TempDir(), Env: os.Environ(),
	}
}

// ended is a leader's exit, as passed to OnExit's function.
type ended struct {
	exit Exit
	err  error
}

// started is a tree, with a channel that receives its leader's exit from OnExit's function.
type started struct {
	*Tree
	exits chan ended
}

// start starts a tree. When the test ends, the tree is closed, and so must be all its handles.
func start(t *testing.T, spec Spec) started {
	t.Helper()
	before := wintest.OpenHandles()
	sup := new(Supervisor)
	tree, err := sup.Start(t.Context(), spec)
	require.NoError(t, err)
	s := started{tree, make(chan ended, 2)}
	tree.OnExit(func(exit Exit, err error) { s.exits <- ended{exit, err} })
	t.Cleanup(func() {
		tree.Close()
		tree.Output().Close()
		sup.Close()
		require.Equal(t, before, wintest.OpenHandles())
	})
	return s
}

// warmUp starts and ends a command, which opens the handles that only a first start opens.
func warmUp(t *testing.T) {
	t.Helper()
	sup := new(Supervisor)
	tree, err := sup.Start(t.Context(), shellLine(t, "exit 0"))
	require.NoError(t, err)
	tree.Close()
	sup.Close()
	tree.Output().Close()
}

// requireEnds ends a tree with a signal that ends all its processes.
func requireEnds(t *testing.T, tree *Tree, sig syscall.Signal) {
	t.Helper()
	left, doubt := tree.End(t.Context(), sig)
	require.NoError(t, doubt)
	require.Empty(t, left)
}

func TestStartAndExit(t *testing.T) {
	warmUp(t)
	s := start(t, shellLine(t, "echo text& exit 7"))
	require.NotZero(t, s.PID())
	require.Equal(t, ended{exit: Exit{Code: 7}}, <-s.exits)
	output, err := io.ReadAll(s.Output())
	require.NoError(t, err)
	require.Equal(t, "text\r\n", string(output))
	requireEnds(t, s.Tree, syscall.SIGKILL)
	s.OnExit(func(exit Exit, err error) { s.exits <- ended{exit, err} })
	require.Equal(t, ended{exit: Exit{Code: 7}}, <-s.exits, "the end is known already")
	require.Empty(t, s.Limits())
}

const refused = windows.ERROR_ACCESS_DENIED // about the program only if it is from startProcess

// failures make a step fail that every start has.
func failures() map[string]func(*startCalls) {
	return map[string]func(*startCalls){
		"outputPipe": func(s *startCalls) {
			s.outputPipe = func() (*os.File, windows.Handle, error) { return nil, 0, errors.New("injected") }
		},
		"newJob":   func(s *startCalls) { s.newJob = func() (windows.Handle, error) { return 0, refused } },
		"limitJob": func(s *startCalls) { s.limitJob = func(windows.Handle, *jobInfo) error { return refused } },
		"assign":   func(s *startCalls) { s.assign = func(windows.Handle, windows.Handle) error { return refused } },
		"resume":   func(s *startCalls) { s.resume = func(windows.Handle) error { return refused } },
	}
}

// A start that fails at any step leaves no process and no open handle, and never runs the program.
func TestStartThatFailsLeavesNothing(t *testing.T) {
	steps := failures()
	steps["openNull"] = func(s *startCalls) {
		s.openNull = func() (*os.File, error) { return nil, errors.New("injected") }
	}
	steps["startProcess"] = func(s *startCalls) {
		s.startProcess = func(string, []string, *syscall.ProcAttr) (int, uintptr, error) { return 0, 0, refused }
	}
	warmUp(t)
	for step, fail := range steps {
		t.Run(step, func(t *testing.T) {
			file := filepath.Join(os.TempDir(), "acpterm-test-"+rand.Text())
			defer os.Remove(file)
			spec := shellLine(t, `echo x>"`+file+`"`)
			calls, process := systemCalls(), windows.Handle(0)
			calls.startProcess = func(path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
				pid, handle, err := syscall.StartProcess(path, args, attr)
				require.NoError(t, err)
				self := windows.CurrentProcess()
				err = windows.DuplicateHandle(self, windows.Handle(handle), self, &process, windows.SYNCHRONIZE, false, 0)
				require.NoError(t, err)
				return pid, handle, nil
			}
			fail(&calls)

			before := wintest.OpenHandles()
			tree, err := calls.startTree(spec, new(sync.WaitGroup))
			require.Nil(t, tree)
			require.Error(t, err)
			_, bare := err.(syscall.Errno)
			require.Equal(t, step == "startProcess", bare, "%v", err)
			require.Equal(t, step == "assign" || step == "resume", process != 0)
			if process != 0 {
				event, err := windows.WaitForSingleObject(process, 0)
				require.NoError(t, err)
				require.Equal(t, uint32(windows.WAIT_OBJECT_0), event, "the process still runs")
				windows.CloseHandle(process)
			}
			require.Equal(t, before, wintest.OpenHandles())
			require.NoFileExists(t, file)
		})
	}
}

// recorded returns calls that add the steps after the start of a process to steps.
func recorded(steps *[]string) startCalls {
	calls := systemCalls()
	calls.assign = func(job, process windows.Handle) error {
		*steps = append(*steps, "assign")
		return windows.AssignProcessToJobObject(job, process)
	}
	calls.resume = func(process windows.Handle) error {
		*steps = append(*steps, "resume")
		return resumeProcess(process)
	}
	return calls
}

// The command is in the job at its first instruction.
func TestTheJobComesBeforeTheFirstInstruction(t *testing.T) {
	var steps []string
	calls := recorded(&steps)
	calls.startProcess = func(path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
		require.NotZero(t, attr.Sys.CreationFlags&windows.CREATE_SUSPENDED)
		steps = append(steps, "start")
		return syscall.StartProcess(path, args, attr)
	}
	tree, err := calls.startTree(sleeper(t), new(sync.WaitGroup))
	require.NoError(t, err)
	defer tree.Output().Close()
	require.Equal(t, []string{"start", "assign", "resume"}, steps)
	require.Equal(t, []int{tree.PID()}, tree.members())
	tree.Close()
	tree.watch()
}

// An exit code counts as a signal only if this package can have caused it.
func TestExitOf(t *testing.T) {
	const controlC = uint32(windows.STATUS_CONTROL_C_EXIT)
	for _, c := range []struct {
		tree *Tree
		code uint32
		want Exit
	}{
		{&Tree{}, 0, Exit{Code: 0}},
		{&Tree{}, 0xC0000005, Exit{Code: 0xC0000005}},
		{&Tree{}, killedCode, Exit{Code: killedCode}},
		{&Tree{}, controlC, Exit{Code: controlC}},
		{&Tree{killed: true}, killedCode, Exit{Signal: "SIGKILL"}},
		{&Tree{killed: true}, controlC, Exit{Code: controlC}},
		{&Tree{killed: true}, 7, Exit{Code: 7}},
		{&Tree{asked: "SIGTERM"}, controlC, Exit{Signal: "SIGTERM"}},
		{&Tree{asked: "SIGINT"}, controlC, Exit{Signal: "SIGINT"}},
		{&Tree{asked: "SIGTERM"}, 7, Exit{Code: 7}},
		{&Tree{asked: "SIGTERM", killed: true}, killedCode, Exit{Signal: "SIGKILL"}},
	} {
		require.Equal(t, c.want, c.tree.exitOf(c.code))
	}
	require.Equal(t, "SIGTERM", askedBy(syscall.SIGTERM))
	require.Equal(t, "SIGINT", askedBy(syscall.SIGINT))
}

// End returns the running processes if its context ends first. A closed tree has no processes, and sends no signals.
func TestEndReturnsWhatStillRuns(t *testing.T) {
	warmUp(t)
	s := start(t, sleeper(t))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	left, _ := s.End(cancelled, syscall.SIGTERM)
	require.Contains(t, left, s.PID())
	requireEnds(t, s.Tree, syscall.SIGKILL)
	require.Equal(t, ended{exit: Exit{Signal: "SIGKILL"}}, <-s.exits)
	s.Close()
	requireEnds(t, s.Tree, syscall.SIGKILL)
	s.Close()
}

// Close terminates the running processes, and the leader does not seem to have exited by itself.
func TestCloseEndsTheTree(t *testing.T) {
	warmUp(t)
	s := start(t, sleeper(t))
	s.Close()
	require.Equal(t, ended{exit: Exit{Signal: "SIGKILL"}}, <-s.exits)
}

// The members are the processes of the job, with the addresses on which they listen, and not those of this process.
func TestMembers(t *testing.T) {
	spec := sleeper(t)
	before, err := net.Listen("tcp", "127.0.0.1:0") // loads what sockets need before the handles are counted
	require.NoError(t, err)
	t.Cleanup(func() { before.Close() })
	child := exec.Command(spec.Path)
	child.Env = spec.Env
	require.NoError(t, child.Start())
	t.Cleanup(func() { child.Process.Kill(); child.Wait() })
	spec.Env[len(spec.Env)-1] = childVariable + "=listen"
	tree := start(t, spec)
	line, err := bufio.NewReader(tree.Output()).ReadString('\n')
	require.NoError(t, err)
	address, err := netip.ParseAddrPort(strings.Fields(line)[0])
	require.NoError(t, err, line)
	members, err := tree.Members()
	require.NoError(t, err)
	require.Len(t, members, 1)
	m := members[0]
	require.Equal(t, tree.PID(), m.PID)
	require.Equal(t, os.Getpid(), m.Parent)
	require.Contains(t, m.Command, filepath.Base(spec.Path))
	require.Positive(t, m.Memory)
	found, err := listeners()
	require.NoError(t, err)
	if slices.Contains(found[0], address) { // wine does not tell whose it is
		require.Empty(t, m.Listening)
	} else {
		require.Equal(t, []netip.AddrPort{address}, m.Listening)
	}
	requireEnds(t, tree.Tree, syscall.SIGKILL)
	members, err = tree.Members()
	require.NoError(t, err)
	require.Empty(t, members)
}

// That the system does not tell whether a process waits for input is an error, so that nobody takes it for idle.
func TestMembersThatMayWaitForInput(t *testing.T) {
	warmUp(t)
	spec := sleeper(t)
	stdin, input, err := InputPipe()
	require.NoError(t, err)
	t.Cleanup(func() { stdin.Close(); input.Close() }) // after the handles are counted again
	spec.Stdin = stdin
	tree := start(t, spec)
	members, err := tree.Members()
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.Len(t, members, 1)
	var looks Looks
	for range 2 {
		require.Empty(t, looks.Add(members, err == nil))
	}
}

// Package capture relies on this: a deadline interrupts a blocked read without loss of data, reading continues after
// it, and the output ends when the last writer has closed the pipe.
func TestOutputPipe(t *testing.T) {
	r, w, err := OutputPipe()
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
	n, err := r.Read(buffer)
	require.NoError(t, err)
	require.Equal(t, "one", string(buffer[:n]))
	write("two")
	require.True(t, wintest.HasWriter(r))
	require.NoError(t, windows.CloseHandle(w))
	n, err = r.Read(buffer)
	require.NoError(t, err)
	require.Equal(t, "two", string(buffer[:n]))
	_, err = r.Read(buffer)
	require.ErrorIs(t, err, io.EOF)
	require.False(t, wintest.HasWriter(r))
}
