package proc

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/internal/procfs"
)

// program is a shell that belongs to no tree.
type program struct {
	*exec.Cmd
	t      *testing.T
	input  io.Writer
	output *bufio.Reader
}

func startProgram(t *testing.T, name string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(name, args...), t: t}
	p.Env = append(os.Environ(), testMark.Name+"="+testMark.Value)
	output, err := p.StdoutPipe()
	require.NoError(t, err)
	p.output = bufio.NewReader(output)
	p.input, err = p.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	return p
}

func (p *program) number() (n int) {
	p.t.Helper()
	_, err := fmt.Fscanln(p.output, &n)
	require.NoError(p.t, err)
	return n
}

func (p *program) end() {
	require.NoError(p.t, p.Process.Kill())
	p.Wait()
}

// A newer process of another program belongs to the tree if it has the output open, and not because of its environment.
func TestNewerProcessesOfOtherPrograms(t *testing.T) {
	s := newSupervisor(t)
	program := startProgram(t, "sh", "-c", "while read file; do setsid sleep 300 >$file & echo $!; done")
	for _, holds := range []bool{false, true} {
		tree := start(t, s, line("exec sleep 300"))
		file := "/dev/null"
		if holds {
			file = fmt.Sprintf("/proc/%d/fd/1", tree.PID())
		}
		fmt.Fprintln(program.input, file)
		pid := program.number()
		require.Eventually(t, func() bool {
			p, err := procfs.Read(pid)
			return err == nil && p.Session == pid
		}, time.Minute, time.Millisecond)
		tree.end()
		require.Equal(t, !holds, runs(pid))
		unix.Kill(pid, unix.SIGKILL) // unreaped, as a child of the shell
	}
	program.end()
}

// adopterMark, as the first argument, makes the test binary adopt the orphans of the test that it runs.
const adopterMark = "proc-test-adopter"

func adopt() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	test := exec.Command("/proc/self/exe", os.Args[2:]...)
	test.Stdout, test.Stderr = os.Stdout, os.Stderr
	if err := test.Run(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// End finds an orphan that one of this process's ancestors has adopted.
func TestOrphansThatAnAncestorAdopts(t *testing.T) {
	const inside = "PROC_TEST_ADOPTED"
	if os.Getenv(inside) == "" {
		again := exec.Command("/proc/self/exe", adopterMark, "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), inside+"=1")
		out, err := again.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	s := newSupervisor(t)
	tree := start(t, s, line("(setsid sh -c 'echo $$; exec sleep 300 >&- 2>&-' &); exec sleep 300"))
	orphan := tree.number()
	requireParent(t, orphan, os.Getppid())
	tree.end()
	require.False(t, runs(orphan))
}

// End finds an orphan that another PID namespace's init process has adopted.
func TestOrphansInAnotherPIDNamespace(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	s := newSupervisor(t)
	namespace := startProgram(t, "unshare", "--pid", "--fork", "--kill-child", "sh", "-c", "echo 1; exec sleep 300")
	namespace.number()
	first := onlyChild(t, namespace.Process.Pid)
	tree := start(t, s, line(fmt.Sprintf(
		"nsenter --pid=/proc/%d/ns/pid sh -c '(setsid sleep 300 >&- 2>&- &)'; echo; exec sleep 300", first)))
	tree.word()
	orphan := onlyChild(t, first)
	tree.end()
	require.False(t, runs(orphan))
	namespace.end()
}

// onlyChild returns the number of a process's child.
func onlyChild(t *testing.T, parent int) int {
	t.Helper()
	pids, err := procfs.PIDs()
	require.NoError(t, err)
	var children []int
	for _, pid := range pids {
		if p, err := procfs.Read(pid); err == nil && p.Parent == parent {
			children = append(children, pid)
		}
	}
	require.Len(t, children, 1)
	return children[0]
}

func requireParent(t *testing.T, pid, parent int) {
	t.Helper()
	require.Eventually(t, func() bool {
		p, err := procfs.Read(pid)
		return err == nil && p.Parent == parent
	}, time.Minute, time.Millisecond)
}

// A child of this process that has not begun its own session yet may become a leader, so its session says nothing about
// its descendants.
func TestOriginsOfProcessesThatAreBeingStarted(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	_, err := unix.Setsid() // otherwise the session is outside of the namespace
	require.NoError(t, err)
	s := newSupervisor(t)
	tree := start(t, s, line("exec sleep 300"))
	child := startProgram(t, "sleep", "300")
	tree.scanned(make(seen))
	require.Zero(t, s.originOf(child.Process.Pid))
	child.end()
	tree.end()
}
