package journal_test

// Tests of the effect of Recover on processes after a host was killed. The host is this test binary, with a manager
// whose commands are shell lines that start processes which outlive it. internal/lawtest also kills hosts at any
// moment (TestRecoverAfterHostsThatWereKilledAtAnyMoment).

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/internal/procfs"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/journal"
)

// The first argument of the test binary when it runs as a host, or as a recovering process.
const (
	hostMark    = "journal-test-host"
	recoverMark = "journal-test-recover"
)

func TestMain(m *testing.M) {
	linuxtest.Main()
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case hostMark:
			runHost(os.Args[2], os.Args[3], os.Args[4:])
		case releaseMark:
			runReleasingHost(os.Args[2], os.Args[4:])
		case recoverMark:
			recoverHere(os.Args[2])
		}
	}
	racetest.Restart()
	os.Exit(m.Run())
}

// Shell lines of a host's commands. Each writes the numbers of the processes that outlive the host, and then "ready".
const (
	stubborn   = `trap "" TERM; sleep 300 & echo $! ready; wait`
	newSession = `setsid sh -c 'echo $$ ready; exec sleep 300' & wait`
	daemon     = `setsid sh -c 'sleep 300 >/dev/null 2>&1 & echo $! ready'; exec sleep 300`
	// One process with the environment, and one without, in the command's session.
	halfNaked = `sleep 300 & env -i sh -c "echo $! "'$$ ready; exec sleep 300' & wait`
	// One process in its own session, and its child in another session, without the environment.
	nakedChild = `setsid sh -c 'env -i setsid sh -c "echo $$ \$\$ ready; exec sleep 300" & wait' & wait`
	// Continues to start processes while it is being ended.
	spawner = `setsid sh -c 'trap "" TERM; echo $$ ready; while :; do sleep 300 & sleep 0.01; done' & wait`
	// Has neither the environment, the output, a parent nor the session of the tree.
	vanished = `setsid env -i sh -c 'setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $! ready'; exec sleep 300`
	leader   = `echo ready; exec sleep 300` // nothing outlives the host
)

// polite returns a line for a process that writes its number as a file on SIGTERM, and ends. The output no longer has a
// reader: the shell's message about the end of its sleep would end it by SIGPIPE.
func polite(files string) string {
	return `setsid sh -c 'trap ": >` + files + `/$$; exit" TERM
		echo $$ ready; exec 2>/dev/null; while :; do sleep 1; done' & wait`
}

// hosted is a terminal of a host.
type hosted struct {
	ID   acpterm.TerminalID
	Tree []procfs.ID // the processes that its line wrote
}

// runHost runs as a host. It writes its terminals in a line of JSON, and runs until it is killed.
func runHost(dir, cgroup string, lines []string) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Journal: journal.Dir(dir), Cgroup: cgroup}))
	var all []hosted
	for _, line := range lines {
		_, terminal := createReady(m, line)
		all = append(all, terminal)
	}
	json.NewEncoder(os.Stdout).Encode(all)
	time.Sleep(5 * time.Minute)
}

// createReady starts a line and returns when it is ready.
func createReady(m *acpterm.Manager, line string) (*acpterm.Terminal, hosted) {
	request := acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c", line}}
	term := hosttest.Must(m.Create(context.Background(), request, nil))
	terminal := hosted{ID: term.ID()}
	for _, word := range strings.Fields(strings.TrimSuffix(readUntil(term, "ready\n"), "ready\n")) {
		terminal.Tree = append(terminal.Tree, identify(word))
	}
	return term, terminal
}

// readUntil returns the output up to a text.
func readUntil(term *acpterm.Terminal, last string) (text string) {
	for chunk := range term.Follow(context.Background(), 0) {
		if text += chunk.Text; strings.HasSuffix(text, last) {
			break
		}
	}
	return text
}

// identify returns the process with a number that it wrote itself.
func identify(number string) procfs.ID {
	pid, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	p, err := new(procfs.Table).Read(pid)
	if err != nil {
		panic(err)
	}
	return p.ID
}

// recoverHere runs as the recovering process. It writes its number, and the kind and the processes of the error.
func recoverHere(dir string) {
	_, err := journal.Recover(context.Background(), dir)
	e, ok := errors.AsType[*acpterm.Error](err)
	if !ok {
		panic(err)
	}
	fmt.Println(os.Getpid(), e.Kind, e.PIDs)
	os.Exit(0)
}

// host is a running host.
type host struct {
	command   *exec.Cmd
	terminals []hosted
	tree      []procfs.ID // of all terminals
	leaders   []int       // pidfds of the commands themselves
}

// startHost starts a host and returns when all its commands are ready.
func startHost(t *testing.T, dir, cgroup string, lines ...string) *host {
	t.Helper()
	return startHostAs(t, hostMark, dir, cgroup, lines...)
}

func startHostAs(t *testing.T, mark, dir, cgroup string, lines ...string) *host {
	t.Helper()
	h := &host{command: exec.Command("/proc/self/exe", append([]string{mark, dir, cgroup}, lines...)...)}
	h.command.Stderr = os.Stderr
	stdout, err := h.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, h.command.Start())
	t.Cleanup(func() { h.kill(t) })
	t.Cleanup(func() { endAll(h.tree) })
	require.NoError(t, json.NewDecoder(stdout).Decode(&h.terminals))
	for _, terminal := range h.terminals {
		h.tree = append(h.tree, terminal.Tree...)
		pidfd, err := unix.PidfdOpen(readRecord(t, dir, terminal.ID).Leader.PID, 0)
		require.NoError(t, err)
		h.leaders = append(h.leaders, pidfd)
	}
	requireRunning(t, h.tree)
	return h
}

// kill ends the host by SIGKILL, and returns when its commands have ended with it.
func (h *host) kill(t *testing.T) {
	h.command.Process.Kill()
	h.command.Wait()
	for _, pidfd := range h.leaders {
		n, err := 0, error(unix.EINTR)
		for err == unix.EINTR {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 60_000)
		}
		require.NoError(t, err)
		require.Equal(t, 1, n, "a command lives on without its host")
		unix.Close(pidfd)
	}
	h.leaders = nil
}

func runs(id procfs.ID) bool {
	p, err := new(procfs.Table).Read(id.PID)
	return err == nil && p.ID == id && !p.Exited
}

func requireRunning(t *testing.T, processes []procfs.ID) {
	t.Helper()
	for _, id := range processes {
		require.True(t, runs(id), "process %d is not there", id.PID)
	}
}

func requireGone(t *testing.T, processes []procfs.ID) {
	t.Helper()
	for _, id := range processes {
		require.False(t, runs(id), "process %d is still there", id.PID)
	}
}

// endAll ends the remaining processes of a failed test.
func endAll(processes []procfs.ID) {
	for _, id := range processes {
		if handle, err := new(procfs.Table).Open(id.PID); err == nil {
			if p, err := handle.Process(); err == nil && p.ID == id {
				handle.Signal(syscall.SIGKILL)
			}
			handle.Close()
		}
	}
}

// recoverQuickly is Recover with a short grace period, for processes that ignore SIGTERM. It checks that no descriptor
// stays open.
func recoverQuickly(t *testing.T, dir string) ([]journal.Recovered, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	before := len(fileNames(t, "/proc/self/fd"))
	defer func() { require.LessOrEqual(t, len(fileNames(t, "/proc/self/fd")), before, "descriptors are left") }()
	return journal.Recover(ctx, dir)
}

func pidsOf(processes []procfs.ID) (pids []int) {
	for _, id := range processes {
		pids = append(pids, id.PID)
	}
	return pids
}

func TestRecoverAfterTheHostWasKilled(t *testing.T) {
	dir := t.TempDir()
	lines := []string{stubborn, newSession, daemon}
	h := startHost(t, dir, "", lines...)
	require.Len(t, h.tree, 3, "each has a process besides the command")
	require.Len(t, fileNames(t, dir), 3)
	h.kill(t)
	requireRunning(t, h.tree)

	recovered, err := recoverQuickly(t, dir)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.Len(t, recovered, 3)
	var ended []int
	for _, r := range recovered { // in the order of their ids, unless the clock was set back
		i := slices.IndexFunc(h.terminals, func(each hosted) bool { return each.ID == r.TerminalID })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, acpterm.SessionID("s"), r.SessionID)
		require.Equal(t, []string{"sh", "-c", lines[i]}, r.Command.Args)
		require.Equal(t, h.command.Process.Pid, r.HostPID)
		require.Positive(t, r.PID)
		require.Empty(t, r.Survivors)
		ended = append(ended, r.Ended...)
	}
	require.Subset(t, ended, pidsOf(h.tree))
	require.Empty(t, fileNames(t, dir))

	recovered, err = journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, recovered)
}

// With an ended context there is no SIGTERM and no grace period, but Recover still ends the trees.
func TestRecoverWithoutPatience(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	h := startHost(t, dir, "", polite(files), spawner)
	h.kill(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	recovered, err := journal.Recover(ctx, dir)
	require.NoError(t, err)
	require.Len(t, recovered, 2)
	requireGone(t, h.tree)
	require.Empty(t, fileNames(t, files), "one got SIGTERM")
	require.Contains(t, recovered[1].Ended, h.terminals[1].Tree[0].PID)
	require.Empty(t, leaktest.Running("ACPTERM_TERMINAL="+string(h.terminals[1].ID)+"\x00"), "it went on spawning")
	require.Empty(t, fileNames(t, dir))
}

// A process that ends on SIGTERM, stopped or not, gets no other signal.
func TestRecoverAsksFirst(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	line := polite(files)
	h := startHost(t, dir, "", line, line)
	h.kill(t)
	requireRunning(t, h.tree)
	require.NoError(t, unix.Kill(h.tree[1].PID, unix.SIGSTOP)) // it runs, so the number is its own
	_, err := journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	requireGone(t, h.tree)
	names := []string{strconv.Itoa(h.tree[0].PID), strconv.Itoa(h.tree[1].PID)}
	require.ElementsMatch(t, names, fileNames(t, files), "each did what it does on SIGTERM")
}

// Processes started to clean up after SIGTERM are not signalled.
func TestRecoverLeavesCleanUpAlone(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	line := `setsid sh -c 'trap "for i in 1 2 3; do sleep 0.03 || exit; done; >` + files + `/$$; exit" TERM
		exec 2>/dev/null; sh -c "echo $$ ready; exec sleep 300 >/dev/null" & wait' & wait`
	h := startHost(t, dir, "", line)
	h.kill(t)
	_, err := journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.Len(t, fileNames(t, files), 1)
}

// A zombie does not count as a living host, and its command, a zombie until reaped, does not count as running.
func TestRecoverFromAZombie(t *testing.T) {
	dir := t.TempDir()
	h := startHost(t, dir, "", newSession)
	require.NoError(t, h.command.Process.Kill())
	// Wait for all its threads; the state Z alone does not imply that.
	require.NoError(t, unix.Waitid(unix.P_PID, h.command.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	_, err := recoverQuickly(t, dir)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.Empty(t, fileNames(t, dir))
}

// A process without the mark is found if one with the mark is in its session or is its parent.
func TestRecoverFindsRelatives(t *testing.T) {
	dir := t.TempDir()
	h := startHost(t, dir, "", halfNaked, nakedChild)
	h.kill(t)
	require.Len(t, h.tree, 4)
	requireRunning(t, h.tree)
	recovered, err := recoverQuickly(t, dir)
	require.NoError(t, err)
	requireGone(t, h.tree)
	for i, terminal := range h.terminals {
		require.ElementsMatch(t, pidsOf(terminal.Tree), recovered[i].Ended)
	}
}

func TestRecoverFindsTheVanishedInTheirCgroup(t *testing.T) {
	dir, cgroup := t.TempDir(), linuxtest.CgroupDir(t)
	h := startHost(t, dir, cgroup, vanished, leader)
	h.kill(t)
	requireRunning(t, h.tree)
	recovered, err := recoverQuickly(t, dir)
	require.NoError(t, err)
	require.Len(t, recovered, 2)
	requireGone(t, h.tree)
	for _, terminal := range h.terminals {
		require.NoDirExists(t, filepath.Join(cgroup, string(terminal.ID)))
	}
}

// A directory in a record is used only if it is a cgroup: otherwise Recover would remove its content.
func TestRecoverLeavesWhatIsNoCgroup(t *testing.T) {
	dir, id := t.TempDir(), newID()
	for _, named := range []string{filepath.Join(t.TempDir(), "other"), filepath.Join(t.TempDir(), string(id))} {
		inner := filepath.Join(named, "inner")
		require.NoError(t, os.MkdirAll(inner, 0o700))
		writeRecord(t, dir, object{"terminal": id, "boot": bootID(t), "cgroup": named})
		_, err := journal.Recover(t.Context(), dir)
		require.ErrorContains(t, err, named)
		require.ErrorContains(t, err, string(id))
		require.DirExists(t, inner)
		require.Len(t, fileNames(t, dir), 1, "the record stays")
	}
}

func bootID(t *testing.T) string {
	t.Helper()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	require.NoError(t, err)
	return strings.TrimSpace(string(id))
}

// startStranger starts a process unrelated to any terminal, the leader of a session with another process in it. It
// returns the leader first.
func startStranger(t *testing.T, env ...string) []procfs.ID {
	t.Helper()
	stranger := exec.Command("sh", "-c", stubborn)
	stranger.Env = append(os.Environ(), env...)
	stranger.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout := hosttest.Must(stranger.StdoutPipe())
	require.NoError(t, stranger.Start())
	found := []procfs.ID{identify(strconv.Itoa(stranger.Process.Pid))}
	t.Cleanup(func() {
		endAll(found)
		io.Copy(io.Discard, stdout)
		stranger.Wait()
	})
	said, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	found = append(found, identify(strings.Fields(said)[0]))
	requireRunning(t, found)
	return found
}

// If the number of a recorded command now belongs to another process, then that process, its session and its children
// are strangers, and so is a process with the mark of another terminal.
func TestRecoverLeavesRecycledNumbersAlone(t *testing.T) {
	dir := t.TempDir()
	strangers := startStranger(t, "ACPTERM_TERMINAL="+string(newID()))
	for _, id := range strangers {
		for _, wrong := range []uint64{id.Started - 1, 1, 0} {
			recorded := object{"pid": id.PID, "started": wrong}
			writeRecord(t, dir, object{"boot": bootID(t), "leader": recorded, "host": recorded})
		}
	}
	writeRecord(t, dir, object{"boot": bootID(t), "leader": object{"pid": 0, "started": 0}})
	recovered, err := recoverQuickly(t, dir)
	require.NoError(t, err)
	require.Len(t, recovered, 7)
	for _, r := range recovered {
		require.Empty(t, r.Ended)
		require.Empty(t, r.Survivors)
	}
	requireRunning(t, strangers)
	require.Empty(t, fileNames(t, dir))

	// With the right start time, it would be the command.
	writeRecord(t, dir, object{"boot": bootID(t), "leader": object{"pid": strangers[0].PID, "started": strangers[0].Started}})
	recovered, err = recoverQuickly(t, dir)
	require.NoError(t, err)
	require.ElementsMatch(t, pidsOf(strangers), recovered[0].Ended)
	requireGone(t, strangers)
}

// The numbers in a record of another boot have no meaning now, whatever else matches.
func TestRecoverEndsNothingOfAnotherBoot(t *testing.T) {
	dir := t.TempDir()
	strangers := startStranger(t)
	for _, id := range strangers {
		writeRecord(t, dir, object{"leader": object{"pid": id.PID, "started": id.Started}})
	}
	recovered, err := journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	require.Len(t, recovered, 2)
	requireRunning(t, strangers)
	require.Empty(t, fileNames(t, dir))
}

// requireRefusal fails unless a process that recovers from inside a tree does not end the tree, and reports that.
func requireRefusal(t *testing.T, dir string, id acpterm.TerminalID) {
	t.Helper()
	command := exec.Command("/proc/self/exe", recoverMark, dir)
	command.Env = append(os.Environ(), "ACPTERM_TERMINAL="+string(id))
	command.Stderr = os.Stderr
	said, err := command.Output()
	require.NoError(t, err)
	pid := command.Process.Pid
	require.Equal(t, fmt.Sprintf("%d %s [%d]\n", pid, acpterm.ErrSurvivors, pid), string(said))
	require.Len(t, fileNames(t, dir), 1, "the record stays")
}

// A host started in a terminal of a dead host does not end itself, nor its own commands.
func TestRecoverInTheTreeItself(t *testing.T) {
	dir := t.TempDir()
	id := writeRecord(t, dir, object{"boot": bootID(t)})
	strangers := startStranger(t, "ACPTERM_TERMINAL=outer:"+string(id)+":inner")
	requireRefusal(t, dir, id)
	requireRunning(t, strangers)

	recovered, err := recoverQuickly(t, dir)
	require.NoError(t, err)
	require.ElementsMatch(t, pidsOf(strangers), recovered[0].Ended)
	requireGone(t, strangers)
}

// Nor does a host end itself if its session was created outside its PID namespace, as docker exec may do: the session's
// number is then 0 there, like that of the kernel's threads.
func TestRecoverInTheTreeItselfWithoutASession(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	self, err := new(procfs.Table).Read(os.Getpid())
	require.NoError(t, err)
	require.Zero(t, self.Session)
	dir := t.TempDir()
	requireRefusal(t, dir, writeRecord(t, dir, object{"boot": bootID(t)}))
}
