package journal

// Tests of scans with processes that change during the scan. Real processes cannot change at exactly the right moment.

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/cgroup"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/procfs"
)

// mainExitsMark makes the test binary a process whose main thread exits while another thread runs.
const mainExitsMark = "journal-test-main-exits"

func init() {
	if len(os.Args) == 2 && os.Args[1] == mainExitsMark {
		runtime.LockOSThread() // the main thread
		go time.Sleep(5 * time.Minute)
		syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// newEnding returns the ending of a tree with a leader.
func newEnding(leader procfs.ID) *ending {
	t := &tree{leader: leader, Recovered: Recovered{TerminalID: "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"}}
	return &ending{tree: t, procs: new(procfs.Table), members: make(map[procfs.ID]*member)}
}

// startProcess starts a command unrelated to any tree.
func startProcess(t *testing.T, command *exec.Cmd) procfs.Process {
	t.Helper()
	leaktest.Start(t, command)
	p, err := new(procfs.Table).Read(command.Process.Pid)
	require.NoError(t, err)
	return p
}

// startInSession starts a process in a session with another leader.
func startInSession(t *testing.T) procfs.Process {
	t.Helper()
	leader := exec.Command("/bin/sh", "-c", "sleep 300 & echo $!; wait")
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := leader.StdoutPipe()
	require.NoError(t, err)
	startProcess(t, leader)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	p, err := new(procfs.Table).Read(pid)
	require.NoError(t, err)
	handle, err := new(procfs.Table).Open(pid)
	require.NoError(t, err)
	t.Cleanup(func() {
		handle.Signal(syscall.SIGKILL)
		handle.Close()
	})
	return p
}

// If a process is no longer a member when it is opened, it is not held and gets no signal. It counts as running until
// the next scan.
func TestWhatIsNoMemberAnyMoreIsNotHeld(t *testing.T) {
	stranger := exec.Command("sleep", "300")
	stranger.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	other := startProcess(t, stranger)
	child := startProcess(t, exec.Command("sleep", "300"))
	inSession := startInSession(t)
	self, err := new(procfs.Table).Read(os.Getpid())
	require.NoError(t, err)
	const number = 4_190_000 // of a missing process
	ended := procfs.Process{ID: procfs.ID{PID: number, Started: self.Started - 1}, Session: number}
	endedInSession, earlier := ended, self
	endedInSession.Session = inSession.Session
	earlier.Started--
	childOfOther, inItsSession := child, child
	childOfOther.Parent = other.PID
	inItsSession.Session = number
	for name, test := range map[string]struct{ leader, child procfs.Process }{
		"another parent":                    {other, childOfOther},
		"another session":                   {ended, inItsSession},
		"a session whose member has ended":  {endedInSession, inSession},
		"a parent with a number given anew": {earlier, child},
	} {
		e := newEnding(test.leader.ID)
		e.find([]candidate{{Process: test.leader}, {Process: test.child}})
		require.Contains(t, e.running, test.child, name)
		require.NotContains(t, e.members, test.child.ID, name)
		e.close()
	}

	e := newEnding(self.ID) // the control: its parent is a member, and exists
	e.find([]candidate{{Process: self}, {Process: child}})
	require.Contains(t, e.members, child.ID)
	e.close()
}

// A process may be a member while its environment is unknown, as during execve. A process without an environment whose
// main thread has exited looks the same permanently.
func TestWhatMayBeAMemberIsUndecided(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(self, mainExitsMark)
	command.Env = []string{}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a member may have created the session
	p := startProcess(t, command)
	require.Eventually(t, func() bool {
		p, err := new(procfs.Table).Read(p.PID)
		return err == nil && p.MainExited
	}, time.Minute, time.Millisecond)
	handle, err := new(procfs.Table).Open(p.PID)
	require.NoError(t, err)
	defer handle.Close()
	_, err = handle.Variable("X")
	require.ErrorIs(t, err, procfs.ErrExecuting)

	e, later := newEnding(procfs.ID{Started: p.Started}), newEnding(procfs.ID{Started: p.Started + 1})
	f := forest{left: []*ending{e, later}}
	for range 2 {
		f.scan()
	}
	require.Contains(t, e.undecided, p.PID)
	require.Zero(t, e.empty, "the tree may run")
	require.NotContains(t, later.undecided, p.PID, "it began before the tree")
	require.Empty(t, e.members)
}

// A leader that has become root survives its host. If /proc hides it from this user, it may run as well.
func TestAHiddenLeaderIsUndecided(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	leader := startProcess(t, exec.Command("sleep", "300"))
	require.NoError(t, unix.Mount("", "/proc", "", unix.MS_REMOUNT, "hidepid=2,gid=1000000"))
	require.NoError(t, syscall.Seteuid(1_000_000))
	defer syscall.Seteuid(0)
	e := newEnding(leader.ID)
	f := forest{left: []*ending{e}}
	f.scan()
	require.Equal(t, []int{leader.PID}, e.undecided)
	require.Len(t, f.left, 1)
}

// A table contains one process of a chain where each starts the next and ends, even if the listed one ends before it is
// read.
func TestATableMissesNoProcess(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) { // process numbers do not wrap around in it
		return
	}
	for range 30 { // with lower numbers, to slow down the reading
		startProcess(t, exec.Command("sleep", "300"))
	}
	const mark = "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	dir := t.TempDir()
	script, stop := filepath.Join(dir, "script"), filepath.Join(dir, "stop")
	require.NoError(t, os.WriteFile(script, []byte(`if [ ! -e "$1" ]; then sh "$0" "$1" & fi`), 0o600))
	first := exec.Command("sh", script, stop)
	first.Env = append(os.Environ(), lookup.TerminalVariable+"="+mark)
	require.NoError(t, first.Run())
	found := func() bool {
		table, complete, err := readTable(new(procfs.Table))
		require.NoError(t, err)
		return !complete || slices.ContainsFunc(table, func(c candidate) bool {
			return c.unknown || slices.Contains(c.marks, mark)
		})
	}
	for range 100 {
		require.True(t, found())
	}
	require.NoError(t, os.WriteFile(stop, nil, 0o600))
	for found() {
		runtime.Gosched() // until the last one has ended
	}
}

// A tree may still run after a scan that finds none of its processes: its only process may have started another and
// ended.
func TestATreeIsGoneWhenTwoScansInARowAreEmpty(t *testing.T) {
	self, err := new(procfs.Table).Read(os.Getpid())
	require.NoError(t, err)
	e := newEnding(procfs.ID{PID: 4_190_000, Started: self.Started})
	f := forest{left: []*ending{e}}
	defer f.procs.Close()
	require.False(t, f.Gone())
	left, doubt := f.End(t.Context(), syscall.SIGTERM)
	require.NoError(t, doubt)
	require.Empty(t, left)
	require.Empty(t, f.left)
	require.Equal(t, 2, e.empty)
}

// A process with an unknown environment is not a member if its session's leader runs and is not a member.
func TestWhatIsInASessionOfOthersIsNotUndecided(t *testing.T) {
	e := newEnding(procfs.ID{PID: 4_190_000, Started: 1})
	leader := procfs.Process{ID: procfs.ID{PID: 4_190_001, Started: 2}, Session: 4_190_001}
	other := procfs.Process{ID: procfs.ID{PID: 4_190_002, Started: 3}, Session: 4_190_001}
	e.find([]candidate{{Process: leader}, {Process: other, unknown: true}})
	require.Empty(t, e.undecided)
	for name, table := range map[string][]candidate{
		"its leader has ended":     {{Process: other, unknown: true}},
		"its leader is in execve":  {{Process: leader, unknown: true}, {Process: other, unknown: true}},
		"its leader is a member":   {{Process: leader, marks: []string{string(e.TerminalID)}}, {Process: other, unknown: true}},
		"it is not in any session": {{Process: leader}, {Process: procfs.Process{ID: other.ID}, unknown: true}},
	} {
		e.find(table)
		require.Contains(t, append(e.undecided, pidsOfRunning(e)...), other.PID, name)
	}
	e.close()
}

func pidsOfRunning(e *ending) (pids []int) {
	for _, p := range e.running {
		pids = append(pids, p.PID)
	}
	return pids
}

// A tree is not gone if a member ended after the table was read: it may have started a process missing from the table.
func TestATreeIsNotGoneWhenAMemberEndsDuringTheScan(t *testing.T) {
	command := exec.Command("true")
	require.NoError(t, command.Run())
	self, err := new(procfs.Table).Read(os.Getpid())
	require.NoError(t, err)
	ended := procfs.ID{PID: command.Process.Pid, Started: self.Started}
	e := newEnding(ended)
	e.find([]candidate{{Process: procfs.Process{ID: ended}}})
	require.Empty(t, e.running)
	require.Equal(t, []int{ended.PID}, e.undecided)
	e.find(nil)
	require.Empty(t, e.undecided)
	e.close()
}

// A process that starts in the cgroup after the last scan ends with the cgroup.
func TestWhatAScanHasNotFoundEndsWithItsCgroup(t *testing.T) {
	parent := linuxtest.CgroupDir(t)
	made, err := cgroup.Make(parent, "tree")
	require.NoError(t, err)
	t.Cleanup(made.Remove)
	command := exec.Command("sleep", "300")
	command.SysProcAttr = new(syscall.SysProcAttr)
	made.Prepare(command.SysProcAttr)
	p := startProcess(t, command)
	pidfd, err := unix.PidfdOpen(p.PID, 0)
	require.NoError(t, err)
	defer unix.Close(pidfd)

	e := newEnding(procfs.ID{})
	e.cgroup, err = cgroup.Open(parent + "/tree")
	require.NoError(t, err)
	e.send(syscall.SIGTERM, procfs.ID{})
	e.send(syscall.SIGKILL, procfs.ID{})
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 10_000)
	}
	require.NoError(t, err)
	require.Equal(t, 1, n, "it still runs")
	e.close()
}

// Possible members, and processes that are exiting after SIGKILL, are no survivors, but the record stays for them.
func TestOnlyCertainMembersAreSurvivors(t *testing.T) {
	e := newEnding(procfs.ID{PID: 4_190_000, Started: 1})
	running, exiting := procfs.Process{ID: procfs.ID{PID: 7, Started: 2}}, procfs.Process{ID: procfs.ID{PID: 8, Started: 2}}
	e.running, e.undecided = []procfs.Process{running, exiting}, []int{9}
	e.members[exiting.ID] = &member{Handle: procfs.NoHandle(), killed: true}
	e.Survivors, e.doubt = e.remains()
	require.Equal(t, []int{running.PID}, e.Survivors)
	err := e.mayRun()
	require.ErrorIs(t, err, acpterm.ErrSurvivors)
	require.ErrorContains(t, err, "processes [9] may belong to the tree")
	require.ErrorContains(t, err, "processes [8] have been killed, and are exiting")

	e.running = nil
	e.Survivors, e.doubt = e.remains()
	require.Empty(t, e.Survivors)
	require.ErrorIs(t, e.mayRun(), acpterm.ErrSurvivors)
}
