package proc

// These tests use the package's API with real processes.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/internal/procfs"
)

func TestExit(t *testing.T) {
	s := newSupervisor(t)
	for text, want := range map[string]Exit{
		"exit 3": {Code: 3}, "true": {}, "kill -TERM $$": {Signal: "SIGTERM"}, "kill -40 $$": {Signal: "SIG40"},
	} {
		tree := start(t, s, line(text))
		<-tree.ended
		require.NoError(t, tree.err)
		require.Equal(t, want.Code, tree.exit.Code)
		require.Equal(t, want.Signal, tree.exit.Signal)
		require.False(t, tree.exit.Reaped)
		tree.close()
	}
}

// Exits are seen although no descriptor is left for epoll.
func TestExitWithoutEpoll(t *testing.T) {
	s := newSupervisor(t)
	require.NoError(t, s.exits.openLocked())
	s.exits.close()
	tree := start(t, s, line("exit 3"))
	<-tree.ended
	require.Equal(t, uint32(3), tree.exit.Code, "%v", tree.err)
	tree.close()
}

func TestStartErrorsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	s := newSupervisor(t)
	start(t, s, line("true")).end() // the first start opens descriptors kept until Close
	before := leaktest.Descriptors()
	for name, change := range map[string]func(*Spec){
		"no program":           func(c *Spec) { c.Path = dir + "/missing" },
		"no interpreter":       func(c *Spec) { c.Path = file("script", "#!"+dir+"/missing\n", 0o700) },
		"a directory":          func(c *Spec) { c.Path = dir },
		"not executable":       func(c *Spec) { c.Path = file("plain", "text", 0o600) },
		"no format":            func(c *Spec) { c.Path = file("text", "\x00text", 0o700) },
		"no directory":         func(c *Spec) { c.Dir = dir + "/missing" },
		"a file for directory": func(c *Spec) { c.Dir = file("nodir", "", 0o600) },
		"too long":             func(c *Spec) { c.Args = append(c.Args, strings.Repeat("x", 1<<20)) },
		"NUL in the path":      func(c *Spec) { c.Path = "/bin/s\x00h" },
		"NUL in arguments":     func(c *Spec) { c.Args = append(c.Args, "\x00") },
		"no cgroup":            func(c *Spec) { c.Cgroup = dir + "/missing" },
		"an unknown limit":     func(c *Spec) { c.Limits = []Limit{{Name: "CPUTime", Value: 1}, {Name: "Processes"}} },
	} {
		if name == "an unknown limit" && !exemptFromProcesses() {
			continue
		}
		for _, limits := range [][]Limit{nil, {{Name: "OpenFiles", Value: 50}}} {
			for _, pty := range []*Size{nil, {Columns: 80, Rows: 24}} {
				spec := line("true")
				spec.Limits, spec.PTY = limits, pty
				change(&spec)
				_, err := s.Start(t.Context(), spec)
				require.Error(t, err, name)
				requireNothingLeft(t, before)
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("cause")
	cancel(cause)
	_, err := s.Start(ctx, line("true"))
	require.ErrorIs(t, err, cause)
	requireNothingLeft(t, before)
}

// hangingStarts returns commands that hang in execve until released: this process holds a lease on each program
// (F_SETLEASE in man 2 fcntl). It creates all programs before the first start, because a lease is refused while a
// hanging child has the file open. The kernel breaks a lease after 45 seconds.
func hangingStarts(t *testing.T, n int) (starts []hangingStart) {
	t.Helper()
	// Go cannot stop a forking thread, for example for a garbage collection, and needs a processor for each.
	processors, percent := runtime.GOMAXPROCS(8), debug.SetGCPercent(-1)
	runtime.GC() // ends a running collection
	t.Cleanup(func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	})
	for range n {
		spec := line("")
		spec.Path = filepath.Join(t.TempDir(), "program")
		spec.Args = []string{spec.Path}
		require.NoError(t, os.WriteFile(spec.Path, []byte("#!/bin/sh\nexec sleep 300\n"), 0o700))
		file, err := os.Open(spec.Path)
		require.NoError(t, err)
		_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
		require.NoError(t, err)
		free := sync.OnceFunc(func() {
			unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_UNLCK) // a hanging child has the file open, too
			file.Close()
		})
		t.Cleanup(free)
		starts = append(starts, hangingStart{spec, file, free})
	}
	return starts
}

// hangingStart is a start that hangs until it is released.
type hangingStart struct {
	spec    Spec
	file    *os.File
	release func()
}

// await waits until the start hangs: the system then wants the lease back.
func (h hangingStart) await(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		lease, err := unix.FcntlInt(h.file.Fd(), unix.F_GETLEASE, 0)
		return err == nil && lease != unix.F_WRLCK
	}, time.Minute, time.Millisecond)
}

// A hanging start does not delay later ones, and the extra goroutines end with the trees that they started.
func TestHangingStarts(t *testing.T) {
	s := newSupervisor(t)
	before := start(t, s, line("exec sleep 300")) // keeps the first starter running
	type result struct {
		tree *Tree
		err  error
	}
	starts := hangingStarts(t, 3)
	var hanging []chan result
	for _, h := range starts {
		done := make(chan result, 1)
		go func() {
			tree, err := s.Start(context.Background(), h.spec)
			done <- result{tree, err}
		}()
		hanging = append(hanging, done)
		h.await(t)
		self := uintptr(os.Getpid())
		if _, _, errno := unix.Syscall6(unix.SYS_KCMP, self, self, 0, 0, 0, 0); errno == 0 { // it may be denied
			for _, child := range procfs.Children(os.Getpid()) {
				require.Equal(t, !s.leads(child), procfs.SharesMemory(child), "only a command being started")
			}
		}
		start(t, s, line("true")).end() // while the other hangs
	}
	for _, done := range hanging {
		require.Empty(t, done, "it has not begun to hang")
	}
	s.mu.Lock()
	require.Greater(t, len(s.starters), maxStarters)
	s.mu.Unlock()
	for i, h := range starts {
		h.release()
		r := <-hanging[i]
		require.NoError(t, r.err)
		(&tree{Tree: r.tree, t: t}).end()
	}
	start(t, s, line("true")).end()
	before.end()
	require.Eventually(t, func() bool { return starters() <= maxStarters }, time.Minute, time.Millisecond)
}

// Start gives up a start that still hangs ten seconds (here less) after its context has ended. It then ends nothing but
// that start's tree.
func TestAHangingStartIsGivenUp(t *testing.T) {
	require.Equal(t, 10*time.Second, hungStart)
	hungStart = 100 * time.Millisecond
	defer func() { hungStart = 10 * time.Second }()
	s := newSupervisor(t)
	h := hangingStarts(t, 1)[0]
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Start(ctx, h.spec)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	h.release() // newSupervisor finds what it leaves
}

// A command ends with its host, and not with the thread that requested it: Go ends the thread of a goroutine that
// returns while locked to it.
func TestACommandOutlivesTheThreadThatCreatedIt(t *testing.T) {
	s := newSupervisor(t)
	created, threads := make(chan *Tree), make(chan int, 1)
	var create func()
	create = func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // Go does not end the first thread
			go create()
			runtime.UnlockOSThread()
			return
		}
		threads <- unix.Gettid()
		tree, err := s.Start(context.Background(), line("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"))
		if err != nil {
			t.Error(err)
		}
		created <- tree
	}
	go create()
	tree := &tree{Tree: <-created, t: t}
	tree.output = bufio.NewReader(tree.Output())
	require.Equal(t, "ready", tree.word())
	thread := fmt.Sprintf("/proc/self/task/%d", <-threads)
	require.Eventually(t, func() bool { _, err := os.Stat(thread); return os.IsNotExist(err) }, time.Minute, time.Millisecond)
	require.True(t, runs(tree.PID()))
	ended := make(chan Exit, 1)
	tree.OnExit(func(e Exit, _ error) { ended <- e })
	require.NoError(t, unix.Kill(tree.PID(), unix.SIGTERM))
	require.EqualValues(t, 7, (<-ended).Code)
	tree.end()
}

func TestACommandDiesWithItsHost(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	host := exec.Command(program, hostMark)
	stdout, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	text, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(t, err)
	command, err := new(procfs.Table).Open(pid)
	require.NoError(t, err)
	defer command.Close()
	require.NoError(t, host.Process.Kill())
	host.Wait()
	require.Eventually(t, func() bool { p, err := command.Process(); return err != nil || p.Exited }, time.Minute, time.Millisecond)
}

// listDescriptors prints a command's descriptors below 100, and the next ones after 300.
const listDescriptors = `i=0; while [ $i -lt 310 ]; do if [ -e /dev/fd/$i ]; then printf "$i "; fi; i=$((i+1))
	if [ $i = 100 ]; then i=300; fi; done; echo`

func TestCommandsInheritNothing(t *testing.T) {
	s := newSupervisor(t)
	list := func(files ...*os.File) string {
		spec := line(listDescriptors)
		spec.Files = files
		tree := start(t, s, spec)
		defer tree.end()
		return tree.word()
	}
	careless := func(least int) int {
		fd, err := unix.FcntlInt(0, unix.F_DUPFD, least) // without close-on-exec, as from C code
		require.NoError(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	low := careless(3)
	begun := time.Now()
	require.Equal(t, "0 1 2", list())
	// Scans take only a share of the time. Under load, the next one may be far away.
	took := time.Since(begun)
	require.True(t, s.lookout.next.After(begun))
	require.Less(t, s.lookout.next.Sub(begun), (scanShare+1)*took)
	high := careless(300)
	s.lookout.next = time.Now()
	require.Equal(t, "0 1 2", list())
	file, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, "0 1 2 3", list(file))
	require.True(t, inheritable(low) && inheritable(high), "the host's own children still inherit them")
}

// A file that gets the number of an inheritable one during a start stays close-on-exec.
func TestAnotherFileStaysCloseOnExec(t *testing.T) {
	other, err := os.Open("/")
	require.NoError(t, err)
	defer other.Close()
	fd, err := syscall.Dup(0)
	require.NoError(t, err)
	defer unix.Close(fd)
	new(lookout).look()
	require.NoError(t, closedWhileStarting.closeInChild(func() error {
		require.False(t, inheritable(fd))
		return unix.Dup3(int(other.Fd()), fd, unix.O_CLOEXEC)
	}))
	require.False(t, inheritable(fd))
}

// found maps the reason why a process belongs to the tree to a line that starts such a process and prints its ID.
var found = map[string]string{
	"the session":            `sleep 300 & echo $!; wait`,
	"the session, no leader": `sleep 300 & echo $!`,
	"the mark":               `setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1' & sleep 0.01`,
	"the output":             `env -i setsid sh -c 'echo $$; exec sleep 300' &`,
	"the parent":             `setsid sh -c 'env -i setsid sh -c "echo \$\$; exec sleep 300 >/dev/null 2>&1" & wait' & wait`,
	"the session it began":   `setsid sh -c 'echo $$; env -i sh -c "exec sleep 300 >/dev/null 2>&1" & exec sleep 300' &`,
}

func TestEndFindsTheTree(t *testing.T) {
	for name, text := range found {
		t.Run(name, func(t *testing.T) {
			s := newSupervisor(t)
			tree := start(t, s, line(text))
			pid := tree.number()
			require.True(t, runs(pid))
			tree.end()
			require.False(t, runs(pid))
		})
	}
}

// cleansUp is a shell line that prints "ready". On SIGTERM it runs a few programs to clean up, and fails if one is
// disturbed.
const cleansUp = `trap "for i in 1 2 3; do sleep 0.03 || exit 1; done; echo cleaned; exit 7" TERM
	sh -c "echo ready; exec sleep 300" & wait`

// Programs started by a member after it got the signal do not get it, regardless of their group and session.
func TestCleanUpIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"the leader":               `exec sh -c "$CLEANS_UP"`,
		"a job of its own":         `exec bash -c 'set -m; sh -c "$CLEANS_UP" & wait'`,
		"a session of its own":     `setsid sh -c "$CLEANS_UP" & wait`,
		"a session without parent": `setsid sh -c "$CLEANS_UP" &`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newSupervisor(t)
			spec := line(text)
			spec.Env = append(spec.Env, "CLEANS_UP="+cleansUp)
			tree := start(t, s, spec)
			require.Equal(t, "ready", tree.word())
			tree.endWith(t.Context(), unix.SIGTERM)
			require.Equal(t, "cleaned", tree.word())
			tree.end()
		})
	}
}

// A member started before the first signal but found after it gets the signal exactly once.
func TestMembersThatAreFoundLate(t *testing.T) {
	const text = `exec 2>/dev/null; trap "echo signalled" TERM; echo $$; while :; do sleep 0.01; done`
	s := newSupervisor(t)
	tree := start(t, s, line("setsid sh -c '"+text+"' & wait"))
	pid := tree.number()
	require.NoError(t, tree.Output().SetReadDeadline(time.Now().Add(time.Minute)))
	e := ending{sig: unix.SIGTERM, together: make(map[int]bool), alone: make(map[procfs.ID]bool)}
	for round := range 3 {
		s := tree.scan(make(seen), false, false)
		seen := s.members
		if round == 0 {
			s.members = slices.DeleteFunc(slices.Clone(seen), func(m *member) bool { return m.PID == pid })
			require.Less(t, len(s.members), len(seen))
		}
		e.signal(tree.Tree, s)
		s.members = seen
		s.close()
		if round == 1 {
			require.Equal(t, "signalled", tree.word())
		}
	}
	tree.End(t.Context(), unix.SIGKILL)
	rest, err := io.ReadAll(tree.output)
	require.NoError(t, err)
	require.Empty(t, string(rest))
	tree.end()
}

// In a host that adopts orphans, commands forked by a starter can be told from orphans. Only the former can be in the
// middle of a start, so End does not miss an orphan that executes a program at that time.
func TestOrphansAreNotTakenForStarts(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	self, err := os.Executable()
	require.NoError(t, err)
	s := newSupervisor(t)
	for _, program := range []string{"sh -c 'echo; exec sleep 300'", "env -i " + self + " " + hostMark} {
		tree := start(t, s, line("(setsid sh -c 'echo $$; exec \"$@\"' sh "+program+" &); exec sleep 300"))
		orphan := tree.number()
		tree.word() // the program runs
		await(t, orphan, func(p procfs.Process) bool { return p.Parent == os.Getpid() })
		tree.end()
		require.False(t, runs(orphan), program)
		for err := error(nil); err != unix.ECHILD; {
			_, err = unix.Wait4(-1, nil, 0, nil)
		}
	}
}

// In a PID namespace, all the command's processes end with it. Other processes that have its output open do not belong
// to the tree.
func TestContainedTreesAreNotFoundByTheirOutput(t *testing.T) {
	s := newSupervisor(t)
	for _, contained := range []bool{false, true} {
		spec := line(found["the output"])
		spec.Contained = contained
		tree := start(t, s, spec)
		pid := tree.number()
		handle, err := new(procfs.Table).Open(pid)
		require.NoError(t, err)
		<-tree.ended
		tree.end()
		require.Equal(t, contained, runs(pid))
		if contained {
			require.NoError(t, handle.Signal(unix.SIGKILL))
		}
		handle.Close()
	}
}

// End sends the signal even if the context has ended, and returns the running processes.
func TestEndWithAnEndedContext(t *testing.T) {
	s := newSupervisor(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tree := start(t, s, line("trap '' TERM; echo ready; while :; do sleep 300; done"))
	require.Equal(t, "ready", tree.word())
	left, doubt := tree.End(ctx, unix.SIGTERM)
	require.NoError(t, doubt)
	require.Contains(t, left, tree.PID())
	tree.End(ctx, unix.SIGKILL)
	<-tree.ended
	require.Equal(t, "SIGKILL", tree.exit.Signal)
	tree.end()
}

// afterScan is a context that calls a function after each scan of an End, and ends when that returns true.
type afterScan struct {
	context.Context
	ends func() bool
}

func (c afterScan) Err() error {
	if c.ends() {
		return context.DeadlineExceeded
	}
	return nil
}

// A process that the last scan before the deadline misses, between two generations of a tree, is not reported as gone.
func TestAMemberThatTheLastScanMisses(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	hideLastPID(t) // a scan cannot be complete
	s := newSupervisor(t)
	spec := line("trap '' TERM; echo ready; exec sleep 300")
	tree := start(t, s, spec)
	require.Equal(t, "ready", tree.word())
	pid, scans := 0, 0
	left, _ := tree.End(afterScan{t.Context(), func() bool {
		if scans++; scans == 1 {
			require.NoError(t, unix.Kill(tree.PID(), unix.SIGKILL))
			<-tree.ended
			return false
		}
		if pid == 0 {
			next := exec.Command("/bin/sh", "-c", "(setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1' &)")
			next.Env = append(os.Environ(), spec.Mark.Name+"="+spec.Mark.Value)
			said, err := next.Output()
			require.NoError(t, err)
			_, err = fmt.Sscan(string(said), &pid)
			require.NoError(t, err)
		}
		return true
	}}, unix.SIGTERM)
	tree.end()
	require.NotZero(t, pid)
	require.Equal(t, []int{pid}, left)
	require.False(t, runs(pid))
}

// End never reports a running process as gone, even if descriptors run out.
func TestEndWithFewDescriptors(t *testing.T) {
	s := newSupervisor(t)
	start(t, s, line("true")).end() // the first start opens descriptors kept until Close
	for free := range 5 {
		tree := start(t, s, line(`for i in 1 2 3; do setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1' & done; wait`))
		pids := []int{tree.PID(), tree.number(), tree.number(), tree.number()}
		release := takeDescriptors(t, free)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		left, doubt := tree.End(ctx, syscall.SIGKILL)
		cancel()
		release()
		if len(left) == 0 && doubt == nil {
			for _, pid := range pids {
				require.False(t, runs(pid), "with %d descriptors", free)
			}
		}
		tree.end()
		for _, pid := range pids {
			require.False(t, runs(pid))
		}
	}
}

// takeDescriptors takes all descriptors of this process but some, until release is called.
func takeDescriptors(t *testing.T, free int) (release func()) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: limit.Max}))
	var taken []int
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for ; err == nil; fd, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0) {
		taken = append(taken, fd)
	}
	require.ErrorIs(t, err, unix.EMFILE)
	for range free {
		unix.Close(taken[len(taken)-1])
		taken = taken[:len(taken)-1]
	}
	return func() {
		for _, fd := range taken {
			unix.Close(fd)
		}
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	}
}

// A lack of descriptors during the first start has no lasting effect: it is certain when later trees are gone.
func TestAFirstStartWithFewDescriptors(t *testing.T) {
	s := newSupervisor(t)
	release := takeDescriptors(t, 1)
	_, err := s.Start(t.Context(), line("true"))
	release()
	require.ErrorIs(t, err, unix.EMFILE)
	require.Eventually(t, func() bool {
		tree := start(t, s, line("true"))
		defer tree.end()
		<-tree.ended
		return tree.Gone()
	}, time.Minute, time.Millisecond)
}

// A process whose main thread has exited shows its environment only through other threads. End finds such a member, and
// does not report such a process outside the tree as a survivor.
func TestMainThreadsThatExited(t *testing.T) {
	s := newSupervisor(t)
	self, err := os.Executable()
	require.NoError(t, err)
	tree := start(t, s, line("(setsid "+self+" "+mainExitsMark+" &); sleep 300"))
	nonMember := exec.Command(self, mainExitsMark)
	nonMember.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := nonMember.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, nonMember.Start())
	ended := make(chan struct{})
	go func() {
		nonMember.Wait()
		close(ended)
	}()
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	pid := tree.number()
	for _, pid := range []int{pid, nonMember.Process.Pid} {
		await(t, pid, func(p procfs.Process) bool { return p.MainExited })
	}
	tree.end()
	require.False(t, runs(pid))
	require.True(t, runs(nonMember.Process.Pid))
	require.NoError(t, nonMember.Process.Kill())
	<-ended
}

// Process IDs wrap around while a tree grows: children have lower IDs than their parents.
func TestNumbersThatComeRound(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	s := newSupervisor(t)
	for i := range 30 { // the program's new threads take IDs, too
		setLastPID(t, int(procfs.Limit())-3-i%9)
		tree := start(t, s, line(`for i in 1 2 3 4 5 6; do setsid sh -c 'exec sleep 300 >/dev/null 2>&1' & sleep 300 & echo $!; done; wait`))
		var pids []int
		for range 6 {
			pids = append(pids, tree.number())
		}
		tree.end()
		for _, pid := range pids {
			require.False(t, runs(pid))
		}
		if slices.Min(pids) < tree.PID() {
			return
		}
	}
	t.Fatal("numbers did not come round")
}

// setLastPID sets the number after which the system looks for the next one.
func setLastPID(t *testing.T, number int) {
	t.Helper()
	require.NoError(t, os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, number), 0))
}

// scanned returns the members found by a scan.
func (t *tree) scanned(before seen) (pids []int) {
	s := t.scan(before, false, false)
	s.close()
	for _, m := range s.members {
		pids = append(pids, m.PID)
	}
	return append(pids, s.undecided...)
}

// starts is a command that starts a child for each line of its input, and prints its number.
const starts = `while read how; do $how sleep 300 & echo $!; done; wait`

// A number that is not in use may have been assigned to a fork under way. A later scan finds that process.
func TestANumberOfAForkUnderWay(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	s := newSupervisor(t)
	spec := line(starts)
	input := inputOf(t, &spec)
	tree := start(t, s, spec)
	for _, unused := range []int{100, fewNumbers + 100} {
		newest, err := s.table.LastPID()
		require.NoError(t, err)
		setLastPID(t, newest+unused)
		before := make(seen)
		require.Contains(t, tree.scanned(before), tree.PID())
		setLastPID(t, newest+50)
		pid := child(t, tree, input, "")
		setLastPID(t, newest+unused+100)
		require.LessOrEqual(t, pid, newest+unused)
		require.Contains(t, tree.scanned(before), pid)
	}
	tree.end()
}

// Processes of the leader's session that /proc hides from this user (hidepid in man 5 proc) are found, whatever their
// numbers.
func TestHiddenProcesses(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	if !linuxtest.Before(6, 14) { // it is the namespace's own; trying millions of numbers would take seconds
		require.NoError(t, os.WriteFile("/proc/sys/kernel/pid_max", []byte("32768"), 0))
	}
	const user = 1_000_000
	require.NoError(t, unix.Mount("", "/proc", "", unix.MS_REMOUNT, fmt.Sprint("hidepid=2,gid=", user)))
	defer syscall.Seteuid(0)
	s := newSupervisor(t)
	for _, later := range []int{1, fewNumbers + 100, -20} {
		require.NoError(t, syscall.Seteuid(user))
		spec := line("exec bash -c 'set -m; " + starts + "'") // a shell gives up the effective user
		input := inputOf(t, &spec)
		tree := start(t, s, spec)
		require.NoError(t, syscall.Seteuid(0))
		setLastPID(t, tree.PID()+later)
		require.NoError(t, syscall.Seteuid(user))
		pid := child(t, tree, input, "")
		_, err := s.table.Read(pid)
		require.True(t, procfs.IsGone(err), "it is not hidden: %v", err)
		tree.end()
		require.NoError(t, syscall.Seteuid(0))
		require.False(t, runs(pid), "%d after the leader", pid-tree.PID())
	}
}

// A process with the number of another tree's leader, which the host has reaped, is found. Numbers have wrapped around
// since the last scan.
func TestAMemberWithTheNumberOfAReapedLeader(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	s := newSupervisor(t)
	spec := line(starts)
	input := inputOf(t, &spec)
	tree := start(t, s, spec)
	for _, how := range []string{"", "setsid"} {
		for taken := false; !taken; { // a thread of this program may take the number first
			other := start(t, s, line("exit 0"))
			_, err := syscall.Wait4(other.PID(), nil, 0, nil)
			require.NoError(t, err)
			<-other.ended
			setLastPID(t, other.PID()+100)
			require.NotContains(t, tree.scanned(make(seen)), other.PID())
			setLastPID(t, other.PID()-1)
			pid := child(t, tree, input, how)
			if taken = pid == other.PID(); taken {
				require.Contains(t, tree.scanned(make(seen)), pid, how)
			}
			other.end()
		}
	}
	tree.end()
}

// inputOf gives a command a pipe as its standard input, and returns the pipe's other end.
func inputOf(t *testing.T, spec *Spec) *os.File {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	spec.Stdin = r
	return w
}

// child makes a command of starts start a child, and returns the child's number.
func child(t *testing.T, of *tree, input io.Writer, how string) int {
	t.Helper()
	_, err := fmt.Fprintln(input, how)
	require.NoError(t, err)
	return of.number()
}

// A leader reaped by another part of the program still reports its exit if the system knows it, and Close frees the
// tree.
func TestAReapedLeader(t *testing.T) {
	s := newSupervisor(t)
	tree := start(t, s, line("read word; exit 7"))
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(tree.PID(), &status, 0, nil); err != syscall.EINTR {
			require.NoError(t, err)
			break
		}
	}
	<-tree.ended
	if tree.err != nil {
		require.ErrorIs(t, tree.err, ErrReaped) // before Linux 6.15
	} else {
		require.EqualValues(t, 7, tree.exit.Code|7) // seen before the reaping, or reported by the pidfd
	}
	tree.endWith(t.Context(), unix.SIGTERM)
	tree.close()
	io.Copy(io.Discard, tree.output)
}

// Close reaps a leader whose exit the Supervisor has not seen yet, and reports that exit.
func TestCloseBeforeTheExitIsSeen(t *testing.T) {
	s := newSupervisor(t)
	tree := start(t, s, line("exec sleep 1000"))
	s.exits.mu.Lock() // delays what reports exits
	require.NoError(t, unix.Kill(tree.PID(), unix.SIGKILL))
	require.NoError(t, unix.Waitid(unix.P_PID, tree.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil))
	closed := make(chan struct{})
	go func() { tree.close(); close(closed) }()
	require.Eventually(t, func() bool {
		tree.mu.Lock()
		defer tree.mu.Unlock()
		return tree.closed
	}, time.Minute, time.Millisecond)
	s.exits.mu.Unlock()
	<-closed
	<-tree.ended
	require.NoError(t, tree.err)
	require.Equal(t, "SIGKILL", tree.exit.Signal)
}

// A reaped leader with an unknown exit stays registered only until its tree is closed.
func TestALeaderWhoseExitIsLost(t *testing.T) {
	s := newSupervisor(t)
	tree := &Tree{sup: s, starter: &starter{changed: sync.Cond{L: &s.mu}}, pidfd: -1}
	tree.pid = 1 << 30
	s.register(tree)
	exit, err := tree.exitOfReaped()
	require.ErrorIs(t, err, ErrReaped)
	require.True(t, exit.Reaped)
	tree.SetExit(exit, err)
	tree.Close()
	require.Empty(t, s.trees)
	require.Zero(t, tree.starter.leaders)
}
