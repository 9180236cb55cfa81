package acpterm_test

// Recover after a host was killed: the host is this test binary again, with terminals whose children outlive it.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// secret is the value of a variable in the environment of all that the hosts run.
const secret = "value-that-is-nobody's-business"

// journalHost is the child that is a host: JOURNAL CGROUP CHILD..., where a child's arguments follow it after commas.
// It says its terminals in a line of JSON, and runs until it is killed.
func journalHost(args []string) {
	m := acpterm.NewManager(&acpterm.Options{Journal: args[0], Cgroup: args[1], Env: append(os.Environ(), "SECRET="+secret)})
	var all []hosted
	for _, child := range args[2:] {
		words := strings.Split(child, ",")
		term, err := m.Create(context.Background(), childRequest(words[0], words[1:]...))
		if err != nil {
			panic(err)
		}
		text := ""
		for chunk := range term.Follow(context.Background(), 0) {
			if text += chunk.Text; strings.Contains(text, "ready\n") {
				break
			}
		}
		all = append(all, hosted{term.ID(), strings.Fields(strings.ReplaceAll(text, "ready\n", ""))})
	}
	json.NewEncoder(os.Stdout).Encode(all)
	select {}
}

// hosted is a terminal that a host made.
type hosted struct {
	ID   acpterm.TerminalID
	PIDs []string // what its children said
}

// behind is the child that starts another in a session of its own, and says its pid and what it says.
func behind(args []string) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	p := start(&os.ProcAttr{Files: []*os.File{os.Stdin, w, os.Stderr}, Env: os.Environ(), Sys: setsid}, args[0], args[1:]...)
	w.Close()
	fmt.Println(p.Pid)
	io.Copy(os.Stdout, r)
}

// halfNaked is the child that starts one with an environment and one without, both in its session.
func halfNaked([]string) {
	for _, env := range [][]string{os.Environ(), {"GORACE=atexit_sleep_ms=0"}} {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		start(&os.ProcAttr{Files: append(inherit[:3:3], w), Env: env}, "quiet")
		w.Close()
		line, _ := bufio.NewReader(r).ReadString('\n')
		fmt.Print(line)
	}
	ready()
	time.Sleep(time.Hour)
}

// spawns is the child that starts others, and goes on while it is being ended.
func spawns([]string) {
	signal.Ignore(syscall.SIGTERM)
	ready()
	for range 30 {
		go start(&os.ProcAttr{Files: inherit, Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0")}, "sleep-silently").Wait()
	}
	time.Sleep(time.Hour)
}

// recoverHere is the child that recovers: JOURNAL. It says its pid, and the pids of the error that it gets.
func recoverHere(args []string) {
	_, err := acpterm.Recover(context.Background(), args[0])
	e, ok := errors.AsType[*acpterm.Error](err)
	if !ok {
		fmt.Println(os.Getpid(), err)
		return
	}
	fmt.Println(os.Getpid(), e.Kind, e.PIDs)
}

// host is one that runs.
type host struct {
	command   *exec.Cmd
	terminals []hosted
	tree      map[int]string // what its terminals run, but for the commands themselves, by pid: the start time
	leaders   map[int]int    // the commands, by pid: a pidfd
}

// startHost starts a host and returns when all that it runs is ready.
func startHost(t testing.TB, journal, cgroup string, children ...string) *host {
	t.Helper()
	h := &host{tree: make(map[int]string), leaders: make(map[int]int)}
	h.command = exec.Command(executable(), append([]string{childMark, "journal-host", journal, cgroup}, children...)...)
	h.command.Stderr = os.Stderr
	stdout, err := h.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, h.command.Start())
	t.Cleanup(func() { h.kill(t) })
	t.Cleanup(func() { endAll(h.tree) })
	require.NoError(t, json.NewDecoder(stdout).Decode(&h.terminals))
	for _, terminal := range h.terminals {
		for _, pid := range terminal.PIDs {
			h.tree[number(pid)] = startTime(number(pid))
		}
		leader := readRecord(t, journal, terminal.ID).Leader
		delete(h.tree, leader.PID)
		if pidfd, err := unix.PidfdOpen(leader.PID, 0); err == nil {
			h.leaders[leader.PID] = pidfd
		}
	}
	requireRunning(t, h.tree)
	return h
}

// kill ends the host as nothing can be prepared for, and returns when the commands that it ran are gone with it.
func (h *host) kill(t testing.TB) {
	h.command.Process.Kill()
	h.command.Wait()
	for pid, pidfd := range h.leaders {
		n, err := 0, error(unix.EINTR)
		for err == unix.EINTR {
			n, err = unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 10_000)
		}
		require.NoError(t, err)
		require.Equal(t, 1, n, "command %d lives on without its host", pid)
		unix.Close(pidfd)
	}
	clear(h.leaders)
}

// requireRunning fails if one of the processes is not there.
func requireRunning(t testing.TB, processes map[int]string) {
	t.Helper()
	for pid, started := range processes {
		require.NotEmpty(t, started)
		require.Equal(t, started, startTime(pid), "process %d is not there", pid)
	}
}

// endAll ends processes that a failed test has left.
func endAll(processes map[int]string) {
	for pid, started := range processes {
		if pidfd, err := unix.PidfdOpen(pid, 0); err == nil {
			if started != "" && startTime(pid) == started {
				unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
			}
			unix.Close(pidfd)
		}
	}
}

// recoverQuickly is Recover for those who ignore SIGTERM.
func recoverQuickly(t testing.TB, journal string) ([]acpterm.Recovered, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	return acpterm.Recover(ctx, journal)
}

// pidsOf are the processes of a map, sorted.
func pidsOf(processes map[int]string) (pids []int) {
	for pid := range processes {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

func TestRecoverAfterTheHostWasKilled(t *testing.T) {
	journal := t.TempDir()
	children := []string{"grandchild-ignores-sigterm", "setsid", "daemon"}
	h := startHost(t, journal, "", children...)
	require.Len(t, h.tree, 3, "each has a process besides the command")
	require.Len(t, fileNames(t, journal), 3)
	for _, name := range fileNames(t, journal) {
		text, err := os.ReadFile(filepath.Join(journal, name))
		require.NoError(t, err)
		require.NotContains(t, string(text), secret)
		require.NotContains(t, string(text), "SECRET")
	}
	h.kill(t)
	requireRunning(t, h.tree)

	recovered, err := recoverQuickly(t, journal)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.Len(t, recovered, 3)
	var ended []int
	for i, r := range recovered {
		require.Equal(t, h.terminals[i].ID, r.TerminalID)
		require.Equal(t, acpterm.SessionID("s"), r.SessionID)
		require.Equal(t, childArgs(children[i]), r.Command.Args)
		require.Equal(t, executable(), r.Command.Path)
		require.Equal(t, h.command.Process.Pid, r.HostPID)
		require.Positive(t, r.PID)
		require.Empty(t, r.Survivors)
		ended = append(ended, r.Ended...)
	}
	require.ElementsMatch(t, pidsOf(h.tree), ended)
	require.Empty(t, fileNames(t, journal))

	recovered, err = acpterm.Recover(t.Context(), journal)
	require.NoError(t, err)
	require.Empty(t, recovered)
}

// With an ended context there is no grace, but the trees are ended all the same.
func TestRecoverWithoutPatience(t *testing.T) {
	journal := t.TempDir()
	h := startHost(t, journal, "", "setsid", "behind,spawns")
	h.kill(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	recovered, err := acpterm.Recover(ctx, journal)
	require.NoError(t, err)
	require.Len(t, recovered, 2)
	requireGone(t, h.tree)
	require.Contains(t, recovered[1].Ended, number(h.terminals[1].PIDs[0]))
	require.Empty(t, markedProcesses("ACPTERM_TERMINAL="+string(h.terminals[1].ID)), "it went on spawning")
	require.Empty(t, fileNames(t, journal))
}

// What listens to SIGTERM is let.
func TestRecoverAsksFirst(t *testing.T) {
	journal, dir := t.TempDir(), t.TempDir()
	h := startHost(t, journal, "", "behind,together,"+dir+",1")
	h.kill(t)
	requireRunning(t, h.tree)
	_, err := acpterm.Recover(t.Context(), journal)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.Equal(t, []string{strconv.Itoa(pidsOf(h.tree)[0])}, fileNames(t, dir), "it did what it does on SIGTERM")
}

// The host lives until its parent takes note of its death; not to be taken for alive, and neither is its command, which
// is a zombie where nobody reaps it.
func TestRecoverFromAZombie(t *testing.T) {
	journal := t.TempDir()
	h := startHost(t, journal, "", "setsid")
	require.NoError(t, h.command.Process.Kill())
	// With all its threads, which a state of Z does not say.
	require.NoError(t, unix.Waitid(unix.P_PID, h.command.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	_, err := recoverQuickly(t, journal)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.Empty(t, fileNames(t, journal))
}

// A process without the mark is found in the command's session, as long as one with the mark is there too.
func TestRecoverFindsTheSession(t *testing.T) {
	journal := t.TempDir()
	h := startHost(t, journal, "", "half-naked")
	h.kill(t)
	require.Len(t, h.tree, 2)
	requireRunning(t, h.tree)
	recovered, err := recoverQuickly(t, journal)
	require.NoError(t, err)
	requireGone(t, h.tree)
	require.ElementsMatch(t, pidsOf(h.tree), recovered[0].Ended)
}

func TestRecoverFindsTheVanishedInTheirCgroup(t *testing.T) {
	journal, cgroup := t.TempDir(), cgroupDir(t)
	h := startHost(t, journal, cgroup, "vanished", "exit,0,ready\n")
	h.kill(t)
	requireRunning(t, h.tree)
	recovered, err := recoverQuickly(t, journal)
	require.NoError(t, err)
	require.Len(t, recovered, 2)
	requireGone(t, h.tree)
	for _, terminal := range h.terminals {
		require.NoDirExists(t, filepath.Join(cgroup, string(terminal.ID)))
	}
}

// A record is never believed that names a directory for a cgroup which is none: what is in it would be removed.
func TestRecoverLeavesWhatIsNoCgroup(t *testing.T) {
	journal, dir := t.TempDir(), t.TempDir()
	inner := filepath.Join(dir, "inner")
	require.NoError(t, os.Mkdir(inner, 0o700))
	id := writeRecord(t, journal, object{"boot": bootID(t), "cgroup": dir})
	_, err := acpterm.Recover(t.Context(), journal)
	require.ErrorContains(t, err, dir)
	require.ErrorContains(t, err, string(id))
	require.DirExists(t, inner)
}

func TestRecoverLeavesALiveHostAlone(t *testing.T) {
	journal := t.TempDir()
	h := startHost(t, journal, "", "setsid")
	recovered, err := recoverQuickly(t, journal)
	require.NoError(t, err)
	require.Empty(t, recovered)
	requireRunning(t, h.tree)
	require.Len(t, fileNames(t, journal), 1)
	h.kill(t)
	recovered, err = recoverQuickly(t, journal)
	require.NoError(t, err)
	require.Len(t, recovered, 1)
	requireGone(t, h.tree)
}

func bootID(t testing.TB) string {
	t.Helper()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	require.NoError(t, err)
	return strings.TrimSpace(string(id))
}

// startStranger starts a child that has nothing to do with any terminal, the leader of a session with another process
// in it.
func startStranger(t testing.TB, env ...string) map[int]string {
	t.Helper()
	stranger := exec.Command(executable(), childMark, "grandchild-ignores-sigterm")
	stranger.Env = append(os.Environ(), env...)
	stranger.SysProcAttr = setsid
	stdout, err := stranger.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, stranger.Start())
	said, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	found := make(map[int]string)
	for _, pid := range []int{stranger.Process.Pid, number(strings.TrimSpace(said))} {
		found[pid] = startTime(pid)
	}
	t.Cleanup(func() {
		endAll(found)
		io.Copy(io.Discard, stdout)
		stranger.Wait()
	})
	requireRunning(t, found)
	return found
}

// The number of a recorded command is another process's by now: it, its session and its children are strangers, and
// so is who carries the mark of another terminal.
func TestRecoverLeavesRecycledNumbersAlone(t *testing.T) {
	journal := t.TempDir()
	other := writeRecord(t, t.TempDir(), nil)
	strangers := startStranger(t, "ACPTERM_TERMINAL="+string(other))
	for pid, started := range strangers {
		for _, wrong := range []int{number(started) - 1, 1, 0} {
			writeRecord(t, journal, object{"boot": bootID(t), "leader": object{"pid": pid, "started": wrong},
				"host": object{"pid": pid, "started": wrong}})
		}
	}
	writeRecord(t, journal, object{"boot": bootID(t), "leader": object{"pid": 0, "started": 0}})
	recovered, err := recoverQuickly(t, journal)
	require.NoError(t, err)
	require.Len(t, recovered, 7)
	for _, r := range recovered {
		require.Empty(t, r.Ended)
		require.Empty(t, r.Survivors)
	}
	requireRunning(t, strangers)
	require.Empty(t, fileNames(t, journal))

	// Were the start time right, it would be the command.
	leader := pidsOf(strangers)[0]
	writeRecord(t, journal, object{"boot": bootID(t), "leader": object{"pid": leader, "started": number(strangers[leader])}})
	recovered, err = recoverQuickly(t, journal)
	require.NoError(t, err)
	require.ElementsMatch(t, pidsOf(strangers), recovered[0].Ended)
	requireGone(t, strangers)
}

// A record of another boot names numbers that mean nothing now, whatever else is right.
func TestRecoverEndsNothingOfAnotherBoot(t *testing.T) {
	journal := t.TempDir()
	strangers := startStranger(t)
	for pid, started := range strangers {
		writeRecord(t, journal, object{"leader": object{"pid": pid, "started": number(started)}})
	}
	recovered, err := acpterm.Recover(t.Context(), journal)
	require.NoError(t, err)
	require.Len(t, recovered, 2)
	requireRunning(t, strangers)
	require.Empty(t, fileNames(t, journal))
}

// A host that was started in a terminal of one that died does not end itself, nor what it runs.
func TestRecoverInTheTreeItself(t *testing.T) {
	journal := t.TempDir()
	id := writeRecord(t, journal, object{"boot": bootID(t)})
	strangers := startStranger(t, "ACPTERM_TERMINAL=outer:"+string(id)+":inner")
	command := exec.Command(executable(), childMark, "recover", journal)
	command.Env = append(os.Environ(), "ACPTERM_TERMINAL="+string(id))
	command.Stderr = os.Stderr
	said, err := command.Output()
	require.NoError(t, err)
	pid := command.Process.Pid
	require.Equal(t, fmt.Sprintf("%d %s [%d]\n", pid, acpterm.ErrSurvivors, pid), string(said))
	requireRunning(t, strangers)
	require.Len(t, fileNames(t, journal), 1, "the record stays")

	recovered, err := recoverQuickly(t, journal)
	require.NoError(t, err)
	require.ElementsMatch(t, pidsOf(strangers), recovered[0].Ended)
	requireGone(t, strangers)
}

// Nor does one whose session was begun outside of its PID namespace, as that of a command of docker exec may be: its session's
// number is 0 there, as that of the kernel's own threads.
func TestRecoverInTheTreeItselfWithoutASession(t *testing.T) {
	journal := t.TempDir()
	id := writeRecord(t, journal, object{"boot": bootID(t)})
	command := exec.Command(executable(), childMark, "namespace-recover", journal)
	command.Env = append(os.Environ(), "ACPTERM_TERMINAL="+string(id))
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	said, err := command.CombinedOutput()
	if errors.Is(err, os.ErrPermission) || command.ProcessState.ExitCode() == cannotNamespace {
		t.Skipf("no PID namespace can be made here: %v %s", err, said)
	}
	require.NoError(t, err, "%s", said)
	require.Equal(t, fmt.Sprintf("1 %s [1]\n", acpterm.ErrSurvivors), string(said))
	require.Len(t, fileNames(t, journal), 1, "the record stays")
}

// namespaceRecover is recoverHere as the first process of a PID namespace.
func namespaceRecover(args []string) {
	if err := linuxtest.MountProc(); err != nil {
		fmt.Println(err)
		os.Exit(cannotNamespace)
	}
	recoverHere(args)
}

// The journal is full when the command has started: the command is ended again.
func TestAJournalThatIsFullWhenTheCommandRuns(t *testing.T) {
	journal := t.TempDir()
	if err := unix.Mount("acpterm-test", journal, "tmpfs", 0, "size=4096"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(journal, 0)) })
	m := newManager(t, &acpterm.Options{Journal: journal})
	term := create(t, m, childRequest("setsid", ""))
	text, err := os.ReadFile(filepath.Join(journal, string(term.ID())+".json"))
	require.NoError(t, err)
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))

	// Room for the record, but not for all of the process behind it. The time of creation may be shorter.
	record := bytes.IndexByte(text, '\n') + 1
	_, err = m.Create(t.Context(), childRequest("setsid", strings.Repeat("x", 4096-record-10)))
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Empty(t, m.Terminals())
	require.Empty(t, fileNames(t, journal)) // newManager looks for what runs
}
