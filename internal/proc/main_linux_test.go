package proc

// This file has the helpers for tests of trees, and the other processes that the test binary can act as.

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/internal/procfs"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// hostMark, as the first argument, makes the test binary a host with one command. It prints the command's process ID.
const hostMark = "proc-test-host"

// mainExitsMark makes the test binary a process whose main thread exits while others run on. It prints its ID first.
const mainExitsMark = "proc-test-main-exits"

func init() {
	if len(os.Args) > 1 && os.Args[1] == mainExitsMark {
		runtime.LockOSThread() // the main goroutine stays on the main thread
	}
}

func exitMainThread() {
	fmt.Println(os.Getpid())
	os.Stdout.Close()
	os.Stderr.Close()
	go time.Sleep(5 * time.Minute)
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == mainExitsMark {
		exitMainThread()
	}
	linuxtest.Main()
	if len(os.Args) > 1 && os.Args[1] == siblingMark {
		startSibling()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == adopterMark {
		adopt()
	}
	if len(os.Args) > 1 && os.Args[1] == hostMark {
		tree, err := new(Supervisor).Start(context.Background(), line("exec sleep 300"))
		if err != nil {
			panic(err)
		}
		fmt.Println(tree.PID())
		time.Sleep(5 * time.Minute)
	}
	racetest.Restart()
	os.Exit(m.Run())
}

var testMark = Mark{"PROC_TEST_MARK", fmt.Sprint(os.Getpid())}

// line returns a command that runs a shell line.
func line(text string) Spec {
	return Spec{
		Path: "/bin/sh", Args: []string{"sh", "-c", text}, Dir: "/", Mark: testMark,
		Env: append(os.Environ(), testMark.Name+"="+testMark.Value),
	}
}

// newSupervisor returns a Supervisor to be closed when the test ends. The test then fails if descriptors, children or
// threads of starters are left.
func newSupervisor(t *testing.T) *Supervisor {
	t.Helper()
	before := leaktest.Descriptors()
	s := new(Supervisor)
	t.Cleanup(func() {
		s.Close()
		requireNothingLeft(t, before)
		require.Zero(t, starters())
	})
	return s
}

func requireNothingLeft(t *testing.T, descriptorsBefore int) {
	t.Helper()
	require.LessOrEqual(t, leaktest.Descriptors(), descriptorsBefore, "descriptors are left")
	require.ErrorIs(t, unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD, "a child is left")
}

// starters returns the number of goroutines that wait for a start to make. A starter on the main thread runs a second
// goroutine, so run may be in two stacks. Counting stops the world, so no start may hang.
func starters() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "proc.(*Supervisor).next(")
}

// tree is a Tree under test.
type tree struct {
	*Tree
	t      *testing.T
	output *bufio.Reader
	ended  chan struct{}
	exit   Exit
	err    error
}

func start(t *testing.T, s *Supervisor, spec Spec) *tree {
	t.Helper()
	started, err := s.Start(t.Context(), spec)
	require.NoError(t, err)
	tree := &tree{Tree: started, t: t, output: bufio.NewReader(started.Output()), ended: make(chan struct{})}
	started.OnExit(func(e Exit, err error) {
		tree.exit, tree.err = e, err
		close(tree.ended)
	})
	return tree
}

// word returns the next line of the output.
func (t *tree) word() string {
	t.t.Helper()
	text, err := t.output.ReadString('\n')
	require.NoError(t.t, err)
	return strings.TrimSpace(text)
}

func (t *tree) number() int {
	t.t.Helper()
	n, err := strconv.Atoi(t.word())
	require.NoError(t.t, err)
	return n
}

// end ends the tree with SIGKILL and closes it.
func (t *tree) end() {
	t.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	t.endWith(ctx, syscall.SIGKILL)
	t.close()
}

// endWith ends the tree with a signal that ends all its processes.
func (t *tree) endWith(ctx context.Context, sig syscall.Signal) {
	t.t.Helper()
	left, doubt := t.End(ctx, sig)
	require.NoError(t.t, doubt)
	require.Empty(t.t, left)
}

func (t *tree) close() {
	t.Output().Close()
	t.Close()
}

func runs(pid int) bool {
	p, err := new(procfs.Table).Read(pid)
	return err == nil && !p.Exited
}
