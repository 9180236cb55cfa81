package proc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/leaktest"
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
	input, output := leaktest.StartPiped(t, p.Cmd)
	p.input, p.output = input, bufio.NewReader(output)
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

// newerProcesses starts a program that runs each line of its input as a command in a new session.
func newerProcesses(t *testing.T) *program {
	return startProgram(t, "setsid", "sh", "-c", "while read rest; do eval \"setsid $rest\" & done; wait")
}

// start makes the program run a command, and waits until the command leads its session.
func (p *program) start(command string) (pid int) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.input, command)
	require.NoError(p.t, err)
	pid = p.number()
	found, err := new(procfs.Table).Read(pid)
	require.NoError(p.t, err)
	require.Equal(p.t, pid, found.Session)
	return pid
}

// A newer process of another program belongs to the tree if it has the output open, and not because of its environment.
func TestNewerProcessesOfOtherPrograms(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) { // so that IDs do not wrap around
		return
	}
	s := newSupervisor(t)
	program := newerProcesses(t)
	tree := start(t, s, line("exec sleep 300"))
	holder := program.start(fmt.Sprintf("sh -c 'echo $$; exec sleep 300 >/proc/%d/fd/1'", tree.PID()))
	require.Eventually(t, func() bool {
		handle, err := new(procfs.Table).Open(holder)
		require.NoError(t, err)
		defer handle.Close()
		holds, err := handle.CanWriteTo(tree.writing)
		return err == nil && holds
	}, time.Minute, time.Millisecond)
	marked := program.start("sh -c 'echo $$; exec sleep 300'")
	tree.end()
	// It closes the output before it is a zombie.
	require.Eventually(t, func() bool { return !runs(holder) }, time.Minute, time.Millisecond)
	require.True(t, runs(marked))
	require.NoError(t, unix.Kill(marked, unix.SIGKILL))
	program.end()
}

// Such a process gets each signal, even if the leader ignores it, and stays a member once it has closed the output.
func TestHoldersOfTheOutput(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) { // so that IDs do not wrap around
		return
	}
	const stays = `sh -c 'exec 3>/proc/%d/fd/1; trap "exec 3>&-; echo closed" TERM; sleep 300 3>&- & echo $$; wait; exec sleep 300'`
	s := newSupervisor(t)
	program := newerProcesses(t)
	closed := func() {
		text, err := program.output.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "closed\n", text)
	}

	tree := start(t, s, line("trap '' TERM; echo; exec sleep 300"))
	tree.word()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, doubt := tree.End(ctx, unix.SIGTERM)
	require.NoError(t, doubt)
	require.Equal(t, []int{tree.PID()}, left)
	require.False(t, tree.closely) // each scan would examine all newer processes of other programs
	holder := program.start(fmt.Sprintf(stays, tree.PID()))
	left, _ = tree.End(ctx, unix.SIGTERM)
	require.Contains(t, left, holder)
	closed()
	tree.end()
	require.False(t, runs(holder))

	spec := line("read line")
	input := inputOf(t, &spec)
	tree = start(t, s, spec)
	holder = program.start(fmt.Sprintf(stays, tree.PID()))
	fmt.Fprintln(input)
	<-tree.ended
	require.Contains(t, tree.scanned(make(seen)), holder)
	require.NoError(t, unix.Kill(holder, unix.SIGTERM))
	closed()
	require.Contains(t, tree.scanned(make(seen)), holder)
	tree.end()
	require.False(t, runs(holder))
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
	await(t, orphan, func(p procfs.Process) bool { return p.Parent == os.Getppid() })
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
	pids, err := new(procfs.Table).PIDs()
	require.NoError(t, err)
	var children []int
	for _, pid := range pids {
		if p, err := new(procfs.Table).Read(pid); err == nil && p.Parent == parent {
			children = append(children, pid)
		}
	}
	require.Len(t, children, 1)
	return children[0]
}

// await waits until a process is as wanted.
func await(t *testing.T, pid int, isWanted func(procfs.Process) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		p, err := new(procfs.Table).Read(pid)
		return err == nil && isWanted(p)
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

// If the system does not tell the newest ID, as gVisor, End examines all processes.
func TestUnknownIDs(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	hideLastPID(t)
	s := newSupervisor(t)
	for range 3 {
		tree := start(t, s, line("sleep 300 >&- 2>&- & echo $!"))
		pid := tree.number()
		<-tree.ended
		tree.end()
		require.False(t, runs(pid))
	}
}

func hideLastPID(t *testing.T) {
	t.Helper()
	const zero = "/proc/sys/fs/dentry-state" // also in /proc, and its contents end in 0
	require.NoError(t, unix.Mount(zero, "/proc/loadavg", "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount("/proc/loadavg", 0) })
}

// While the system does not answer a question about all processes, nothing else waits.
func TestASlowCountOfForks(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	s := newSupervisor(t)
	stat := filepath.Join(t.TempDir(), "stat")
	require.NoError(t, unix.Mkfifo(stat, 0o600))
	require.NoError(t, unix.Mount(stat, "/proc/stat", "", unix.MS_BIND, ""))
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		s.lookAtIDs()
	}()
	answer, err := os.OpenFile(stat, os.O_WRONLY, 0) // returns once the file is being read
	require.NoError(t, err)
	require.False(t, s.leads(1))
	require.NoError(t, answer.Close())
	<-looked
	require.NoError(t, unix.Unmount("/proc/stat", 0))
}

// A process with the number of the leader of a tree that was closed while it ran is found.
func TestAMemberWithTheNumberOfAClosedTreesLeader(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	s := newSupervisor(t)
	for taken := false; !taken; { // a thread of this program may take the number first
		setLastPID(t, 1000)
		other := start(t, s, line("exec sleep 300"))
		setLastPID(t, other.PID()-30)
		spec := line(starts)
		input := inputOf(t, &spec)
		tree := start(t, s, spec)
		other.close()
		require.NoError(t, unix.Kill(other.PID(), unix.SIGKILL))
		_, err := syscall.Wait4(other.PID(), nil, 0, nil)
		require.NoError(t, err)
		setLastPID(t, other.PID()-1)
		pid := child(t, tree, input, "setsid")
		await(t, pid, func(p procfs.Process) bool { return p.Session == pid })
		require.Contains(t, tree.scanned(make(seen)), pid)
		taken = pid == other.PID()
		tree.end()
	}
}

// What the scan of one tree remembers does not make another tree's scan find more.
func TestOriginsForOlderTrees(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	s := newSupervisor(t)
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "go"), 0o600))
	const script = "echo $$; read line <go; setsid sh -c 'echo $$; exec sleep 300' & wait"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600))
	program := newerProcesses(t)
	older := start(t, s, line("exec sleep 300"))
	parent := program.start("sh -c 'cd " + dir + "; . ./script'")
	spec := line("exec sleep 300")
	spec.Mark.Value = "another"
	newer := start(t, s, spec)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("\n"), 0))
	child := program.number()
	newer.scanned(make(seen))
	require.NotZero(t, s.originOf(child))
	require.NotContains(t, older.scanned(make(seen)), child)
	require.NoError(t, unix.Kill(parent, unix.SIGKILL)) // first, because it ends with its child
	require.NoError(t, unix.Kill(child, unix.SIGKILL))
	older.end()
	newer.end()
	program.end()
}

// Once a scan has seen some children of another program, it rules out the others without examining them.
func TestManyProcessesOfAnotherProgram(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) { // so that IDs do not wrap around
		return
	}
	s := newSupervisor(t)
	const script = "setsid sleep 300 & echo $!; read line; for i in 1 2 3 4 5 6 7 8 9 10; do setsid sleep 300 & echo $!; done; wait"
	program := startProgram(t, "sh", "-c", script)
	older := program.number()
	tree := start(t, s, line("setsid sleep 300 & echo $!; wait"))
	escaped := tree.number()
	fmt.Fprintln(program.input)
	var children []int
	for range 10 {
		child := program.number()
		await(t, child, func(p procfs.Process) bool { return p.Session == child })
		children = append(children, child)
	}
	scanner := &scanner{
		tree: &tree.finder, session: tree.PID(), oldest: tree.PID(), adopts: make(map[int]bool), foreign: make(map[int]int),
	}
	for i, child := range children[:fewChildren] {
		require.Zero(t, s.originOf(children[i+1]))
		scanner.examine(child)
	}
	for _, child := range children {
		require.Equal(t, origin{pid: program.Process.Pid}, s.originOf(child))
	}
	require.Equal(t, origin{pid: tree.PID(), tree: true}, s.originOf(tree.PID()), "an older child does not replace it")
	require.Contains(t, tree.scanned(make(seen)), escaped)
	tree.end()
	require.False(t, runs(escaped))
	for _, child := range append(children, older) {
		require.NoError(t, unix.Kill(child, unix.SIGKILL))
	}
	program.end()
}
