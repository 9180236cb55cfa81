//go:build (amd64 || arm64) && !android

package acpterm

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// forkFunc starts a command and returns when it has its program.
type forkFunc func(path string, args []string, attr *syscall.ProcAttr) (pid int, done bool, err error)

func (o *ownFork) now(path string, args []string, attr *syscall.ProcAttr) (pid int, done bool, err error) {
	done, err = o.fork(path, args, attr, forkCalls{
		begun:  func(child int) { pid = child },
		pause:  func(until *loan) { until.await(0) },
		failed: func(child int) { pid = 0; reap(child) },
	})
	return pid, done, err
}

// forkedByGo is what ownFork.fork is to be like.
func forkedByGo(path string, args []string, attr *syscall.ProcAttr) (pid int, done bool, err error) {
	err = new(inherited).forkExec(path, args, attr, forkCalls{begun: func(child int) { pid = child }})
	return pid, true, err
}

// aChild is what a command is started with, with the other ends of its input and its output.
func aChild(t *testing.T) (attr *syscall.ProcAttr, input, output *os.File) {
	t.Helper()
	stdin, input, err := os.Pipe()
	require.NoError(t, err)
	output, stdout, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, file := range []*os.File{stdin, input, output, stdout} {
			file.Close()
		}
	})
	fd := -1
	return &syscall.ProcAttr{
		Env:   []string{"A=1", "B=two words"},
		Files: []uintptr{stdin.Fd(), stdout.Fd(), stdout.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL, PidFD: &fd},
	}, input, output
}

// newOwnFork is one for a test of what it does, which is skipped where it can do nothing.
func newOwnFork(t *testing.T) *ownFork {
	t.Helper()
	o := new(ownFork)
	attr, _, _ := aChild(t)
	pid, done, err := o.now("/bin/sh", []string{"sh", "-c", "exit"}, attr)
	require.NoError(t, err)
	if done {
		reap(pid)
		unix.Close(*attr.Sys.PidFD)
	} else if os.Getenv("ACPTERM_REQUIRE_CLONE3") == "" {
		t.Skip("clone3 is refused here, or this is Linux before 5.11 (ACPTERM_REQUIRE_CLONE3 makes this a failure)")
	}
	return o
}

// ofProcess is what /proc tells of a process that depends on how it was forked.
func ofProcess(t *testing.T, pid int) map[string]string {
	t.Helper()
	found := make(map[string]string)
	read := func(name string) string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		require.NoError(t, err)
		return string(text)
	}
	for line := range strings.Lines(read("status")) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "SigQ", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt", "Uid", "Groups", "CapEff", "NoNewPrivs", "PPid", "Umask":
			found[name] = value
		}
	}
	fields := strings.Fields(read("stat"))
	for name, field := range map[string]int{"group": 4, "session": 5, "terminal": 6} {
		found[name] = strings.ReplaceAll(fields[field], fmt.Sprint(pid), "its own")
	}
	for _, name := range []string{"limits", "environ", "cmdline", "cgroup", "oom_score_adj"} {
		found[name] = read(name)
	}
	var err error
	found["cwd"], err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	require.NoError(t, err)
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	for _, link := range links {
		to, err := os.Readlink(link)
		require.NoError(t, err)
		kind, _, _ := strings.Cut(to, ":")
		found["descriptor "+filepath.Base(link)] = kind
	}
	delete(found, "SigQ")
	return found
}

func endChild(t *testing.T, pid int, attr *syscall.ProcAttr) {
	t.Helper()
	require.NoError(t, unix.Kill(pid, unix.SIGKILL))
	reap(pid)
	require.NoError(t, unix.Close(*attr.Sys.PidFD))
}

// A command is in no way different from one that Go forked, whatever its parent has ignored, handles or blocks.
func TestForkIsLikeGos(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signal.Ignore(unix.SIGHUP)
	defer signal.Reset(unix.SIGHUP)
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, unix.SIGUSR2)
	defer signal.Stop(handled)
	var usr1, before unix.Sigset_t
	usr1.Val[0] = 1 << (unix.SIGUSR1 - 1)
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, &usr1, &before))
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)

	dir := t.TempDir()
	var found []map[string]string
	for _, fork := range []forkFunc{newOwnFork(t).now, forkedByGo} {
		attr, input, output := aChild(t)
		attr.Dir = dir
		pid, done, err := fork("/bin/cat", []string{"cat", "-"}, attr)
		require.NoError(t, err)
		require.True(t, done)
		_, err = input.WriteString("x") // which it writes when it is past its beginnings
		require.NoError(t, err)
		_, err = output.Read(make([]byte, 1))
		require.NoError(t, err)
		found = append(found, ofProcess(t, pid))
		require.NoError(t, unix.PidfdSendSignal(*attr.Sys.PidFD, 0, nil, 0))
		endChild(t, pid, attr)
	}
	require.Equal(t, found[1], found[0])
	require.Equal(t, "pipe", found[0]["descriptor 0"])
	require.NotContains(t, found[0], "descriptor 3")
	require.Equal(t, "its own", found[0]["session"])
	require.Equal(t, dir, found[0]["cwd"])
	var now unix.Sigset_t
	require.NoError(t, unix.PthreadSigmask(unix.SIG_BLOCK, nil, &now))
	require.Equal(t, before.Val[0]|usr1.Val[0], now.Val[0], "the thread has blocked what it had before")
}

func TestForkFailsLikeGos(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	own := newOwnFork(t)
	descriptors := openFiles(t)
	for name, c := range map[string]struct {
		path, dir string
		args, env []string
	}{
		"no program":           {path: dir + "/missing"},
		"no interpreter":       {path: file("script", "#!"+dir+"/missing\n", 0o700)},
		"a directory":          {path: dir},
		"not executable":       {path: file("plain", "text", 0o600)},
		"no format":            {path: file("text", "\x00text", 0o700)},
		"in a file":            {path: file("file", "", 0o600) + "/program"},
		"no directory":         {path: "/bin/cat", dir: dir + "/missing"},
		"a file for directory": {path: "/bin/cat", dir: file("nodir", "", 0o600)},
		"too long":             {path: "/bin/cat", args: []string{"cat", strings.Repeat("x", 1<<20)}},
		"NUL in the path":      {path: "/bin/c\x00at"},
		"NUL in arguments":     {path: "/bin/cat", args: []string{"\x00"}},
		"NUL in the variables": {path: "/bin/cat", env: []string{"A=\x00"}},
		"NUL in the directory": {path: "/bin/cat", dir: "\x00"},
	} {
		var errs []error
		for _, fork := range []forkFunc{own.now, forkedByGo} {
			attr, _, _ := aChild(t)
			attr.Dir, attr.Env = c.dir, c.env
			pid, done, err := fork(c.path, append([]string{"cat"}, c.args...), attr)
			require.True(t, done, name)
			require.Zero(t, pid, name)
			errs = append(errs, err)
		}
		require.Error(t, errs[1], name)
		require.Equal(t, errs[1], errs[0], name)
	}
	runtime.GC()
	require.Equal(t, descriptors, openFiles(t)-4*2*13, "but for the pipes")
	require.ErrorIs(t, unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD, "a child is left")
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// A child that does not get what it should exits, and tells.
func TestForkStopsAtTheStepThatFails(t *testing.T) {
	newOwnFork(t)
	attr, _, _ := aChild(t)
	for name, change := range map[string]func(f *forking){
		"an error":        func(f *forking) { f.steps[3].number = 1 << 20 },
		"another outcome": func(f *forking) { f.steps[2].want++ },
	} {
		f := new(forking)
		f.program, _ = syscall.BytePtrFromString("/bin/cat")
		f.args, _ = syscall.SlicePtrFromStrings([]string{"cat"})
		f.environ, _ = syscall.SlicePtrFromStrings(nil)
		require.True(t, f.prepare(attr))
		require.EqualValues(t, unix.SYS_GETPPID, f.steps[2].number)
		change(f)
		pid, err := f.run()
		require.NoError(t, err)
		f.memory.await(0)
		err = f.outcome()
		reap(pid)
		require.NoError(t, unix.Close(int(f.pidFD)))
		want := map[string]syscall.Errno{"an error": unix.ENOSYS, "another outcome": unix.ESRCH}[name]
		require.Equal(t, want, err.(stepError).errno, name)
		require.ErrorIs(t, unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD, "a child is left")
	}
}

// What a failed fork means for the next ones.
func TestForkThatIsNotPossible(t *testing.T) {
	for _, c := range []struct {
		err              error
		done, impossible bool
	}{
		{err: stepError{unix.SYS_EXECVE, unix.ENOENT}, done: true},
		{err: stepError{unix.SYS_EXECVE, unix.EPERM}, done: true},
		{err: stepError{unix.SYS_EXECVE, unix.EINVAL}, done: true},
		{err: stepError{unix.SYS_CHDIR, unix.ENOENT}, done: true},
		{err: stepError{unix.SYS_DUP3, unix.EMFILE}},
		{err: stepError{errno: unix.EAGAIN}},
		{err: stepError{errno: unix.ENOSYS}, impossible: true},
		{err: stepError{errno: unix.EPERM}, impossible: true},
		{err: stepError{unix.SYS_CLOSE_RANGE, unix.ENOSYS}, impossible: true},
		{err: stepError{unix.SYS_CLOSE_RANGE, unix.EINVAL}, impossible: true},
		{err: errors.New("other")},
	} {
		var o ownFork
		done, err := o.failed(c.err)
		require.Equal(t, c.done, done, c.err)
		require.Equal(t, c.done, err != nil, c.err)
		require.Equal(t, c.impossible, o.impossible.Load(), c.err)
	}
}

// A descriptor that another would overwrite on its way is for package syscall to move out of it.
func TestForkLeavesTangledDescriptors(t *testing.T) {
	attr, _, _ := aChild(t)
	attr.Files = append(attr.Files, 0) // as descriptor 3, when another is 0 already
	_, done, err := new(ownFork).now("/bin/cat", []string{"cat"}, attr)
	require.NoError(t, err)
	require.False(t, done)
}

// Forks side by side, while everything moves that a fork must not see move: stacks, memory, signals.
func TestForksSideBySide(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	defer signal.Stop(signals)
	done := make(chan struct{})
	var others sync.WaitGroup
	for _, disturb := range []func(){
		runtime.GC,
		func() { unix.Kill(os.Getpid(), unix.SIGUSR1); runtime.Gosched() },
	} {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					disturb()
				}
			}
		})
	}
	own := newOwnFork(t)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 50 {
				r, w, err := os.Pipe()
				if !assertNoError(t, err) {
					return
				}
				fd := -1
				text := fmt.Sprintf("%d %d", n, i)
				pid, _, err := own.now("/bin/sh", []string{"sh", "-c", `echo "$TEXT"`}, &syscall.ProcAttr{
					Env:   []string{"TEXT=" + text},
					Files: []uintptr{r.Fd(), w.Fd(), w.Fd()},
					Sys:   &syscall.SysProcAttr{PidFD: &fd},
				})
				w.Close()
				if !assertNoError(t, err) {
					return
				}
				line := make([]byte, 100)
				count, _ := r.Read(line)
				r.Close()
				reap(pid)
				unix.Close(fd)
				if string(line[:count]) != text+"\n" {
					t.Errorf("%q instead of %q", line[:count], text)
				}
			}
		})
	}
	all.Wait()
	close(done)
	others.Wait()
}

func assertNoError(t *testing.T, err error) bool {
	if err != nil {
		t.Error(err)
	}
	return err == nil
}

// The limit of open files is the one that Go's own children have; here, where Go had nothing to raise, this process's own.
func TestForkWithTheLimitThatGoRaises(t *testing.T) {
	own := newOwnFork(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	raised := unix.Rlimit{Cur: before.Max - 1, Max: before.Max}
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &raised, nil)) // not Setrlimit, of which Go knows
	defer func() { require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &before, nil)) }()

	attr, _, _ := aChild(t)
	byGo, err := syscall.ForkExec("/bin/cat", []string{"cat"}, attr)
	require.NoError(t, err)
	var want, has unix.Rlimit
	require.NoError(t, unix.Prlimit(byGo, unix.RLIMIT_NOFILE, nil, &want))
	endChild(t, byGo, attr)

	limit, ok := own.childrensOpenFiles()
	require.True(t, ok)
	require.Equal(t, want, limit)
	own.openFiles.Store(&unix.Rlimit{Cur: 77, Max: before.Max}) // so it is not asked for again, and is what a child has
	pid, done, err := own.now("/bin/cat", []string{"cat"}, attr)
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &has))
	endChild(t, pid, attr)
	require.Equal(t, unix.Rlimit{Cur: 77, Max: before.Max}, has)

	own.openFiles.Store(&unix.Rlimit{Cur: 77, Max: before.Max - 1}) // from before somebody changed the hard limit
	limit, ok = own.childrensOpenFiles()
	require.True(t, ok)
	require.Zero(t, limit)
}

// A manager's commands inherit nothing, not even what their host had opened just before they began.
func TestCommandInheritsNothingOpenedSince(t *testing.T) {
	newOwnFork(t)
	m := NewManager(nil)
	defer m.Close()
	list := func() string {
		term, err := m.Create(t.Context(), CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c",
			`i=0; while [ $i -lt 100 ]; do if [ -e /dev/fd/$i ]; then echo $i; fi; i=$((i+1)); done`}})
		require.NoError(t, err)
		_, err = term.Wait(t.Context())
		require.NoError(t, err)
		return term.Output().Output
	}
	require.Equal(t, "0\n1\n2\n", list())
	for range 3 {
		careless, err := syscall.Dup(0) // without close-on-exec, as C code would
		require.NoError(t, err)
		defer syscall.Close(careless)
		require.Equal(t, "0\n1\n2\n", list())
	}
}

// heldBack is a child that has no program before release is called.
func heldBack(t *testing.T) (f *forking, release func()) {
	t.Helper()
	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	t.Cleanup(func() { unix.Close(ends[0]); unix.Close(ends[1]) })
	attr, _, _ := aChild(t)
	f = new(forking)
	f.program, _ = syscall.BytePtrFromString("/bin/sh")
	f.args, _ = syscall.SlicePtrFromStrings([]string{"sh", "-c", "exit 3"})
	f.environ, _ = syscall.SlicePtrFromStrings(nil)
	require.True(t, f.prepare(attr))
	into := new([1]byte)
	f.then(unix.SYS_READ, uintptr(ends[0]), address(into), 1)
	last := len(f.steps) - 1
	f.steps[last-1], f.steps[last] = f.steps[last], f.steps[last-1] // before execve
	return f, sync.OnceFunc(func() { unix.Write(ends[1], []byte("x")) })
}

// start forks it in a job of the loop. The exit code comes when the job is through.
func (f *forking) start(t *testing.T, l *loop) <-chan uint32 {
	begun, ended := make(chan struct{}), make(chan uint32, 1)
	go l.run(func(pause pauseFunc) {
		var code uint32
		defer func() { ended <- code }()
		pid, err := f.run()
		close(begun)
		if !assertNoError(t, err) {
			return
		}
		pause(&f.memory)
		runtime.KeepAlive(f)
		assertNoError(t, f.outcome())
		e, _, err := waitNoReap(pid, 0)
		assertNoError(t, err)
		reap(pid)
		unix.Close(int(f.pidFD))
		code = e.code
	})
	<-begun
	return ended
}

// A child that takes its time to become its program holds up neither other commands, nor the collection of garbage, nor the
// thread that it was forked on: there is no other one.
func TestAChildWithoutItsProgramHoldsUpNobody(t *testing.T) {
	newOwnFork(t)
	m := NewManager(nil)
	defer m.Close()
	f, release := heldBack(t)
	defer release()
	code := f.start(t, &m.loop)
	runs := func() {
		term, err := m.Create(t.Context(), CreateTerminalRequest{SessionID: "s", Command: "true"})
		require.NoError(t, err)
		_, err = term.Wait(t.Context())
		require.NoError(t, err)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
	attended := false
	for !attended { // until a goroutine waits for it in the thread's place
		runs()
		runtime.GC()
		m.loop.run(func(pauseFunc) {
			require.Len(t, m.loop.threads[0].paused, 1)
			attended = m.loop.threads[0].paused[0].attended
		})
	}
	for range 3 {
		runs()
	}
	require.Len(t, m.loop.threads, 1)
	release()
	require.EqualValues(t, 3, <-code)
	m.loop.run(func(pauseFunc) { require.Empty(t, m.loop.threads[0].paused) })
}

// Nor is it forgotten when there is nothing but it, and nothing to watch.
func TestCloseWaitsForAChildWithoutItsProgram(t *testing.T) {
	newOwnFork(t)
	for _, late := range []bool{false, true} { // when the thread waits for it, and when a goroutine does
		var l loop
		f, release := heldBack(t)
		code := f.start(t, &l)
		for attended := !late; !attended; {
			l.run(func(pauseFunc) { attended = l.threads[0].paused[0].attended })
		}
		closed := make(chan struct{})
		go func() { l.close(); close(closed) }()
		require.Eventually(t, func() bool { return !l.post(func(pauseFunc) {}) }, 10*time.Second, time.Millisecond)
		select {
		case <-closed:
			t.Fatal("it is closed, and a start is under way")
		default:
		}
		release()
		<-closed
		require.EqualValues(t, 3, <-code)
	}
}

// A thread that is relieved goes on with what it had begun.
func TestARelievedThreadGoesOnWithItsChildren(t *testing.T) {
	newOwnFork(t)
	m := NewManager(nil)
	defer m.Close()
	f, release := heldBack(t)
	defer release()
	code := f.start(t, &m.loop)
	goOn := hang(m, func() {})
	_, err := m.Create(t.Context(), CreateTerminalRequest{SessionID: "s", Command: "true"}) // on another thread
	require.NoError(t, err)
	goOn()
	release()
	require.EqualValues(t, 3, <-code)
}

// Of a child that has no program yet, everybody's looks know that it is nobody else's.
func TestAChildWithoutItsProgramIsALeader(t *testing.T) {
	newOwnFork(t)
	entered := make(map[int]bool)
	all, closeAll := someTrees()
	defer closeAll()
	inherits := new(inherited)
	defer inherits.close()
	g, err := startGroup(Command{Path: "/bin/sh", Args: []string{"sh", "-c", "exit"}, Dir: "/", Env: os.Environ()}, groupOptions{
		inherited: inherits, trees: all, pause: func(until *loan) {
			for pid := range all.leaders {
				entered[pid] = true
			}
			until.await(0)
		},
	})
	require.NoError(t, err)
	require.Equal(t, map[int]bool{g.pid: true}, entered)
	_, _, err = waitNoReap(g.pid, 0)
	require.NoError(t, err)
	close(g.exited)
	g.output.Close()
	g.close()
	require.Empty(t, all.leaders)

	_, err = startGroup(Command{Path: "/bin/missing", Args: []string{"missing"}, Dir: "/"}, groupOptions{
		inherited: inherits, trees: all, pause: func(until *loan) { until.await(0) },
	})
	require.ErrorIs(t, err, unix.ENOENT)
	require.Empty(t, all.leaders)
	require.ErrorIs(t, unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD, "a child is left")
}

// A signal that comes before its program does to a child what it would do to that: the host's handlers are not the child's.
func TestASignalBeforeTheProgram(t *testing.T) {
	newOwnFork(t)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	defer signal.Stop(signals)
	f, release := heldBack(t)
	defer release()
	pid, err := f.run()
	require.NoError(t, err)
	defer unix.Close(int(f.pidFD))
	defer reap(pid)
	require.NoError(t, unix.Kill(pid, unix.SIGUSR1))
	e, _, err := waitNoReap(pid, 0)
	require.NoError(t, err)
	require.Equal(t, "SIGUSR1", e.signal)
	require.True(t, f.memory.over())
	require.Empty(t, signals)
}
