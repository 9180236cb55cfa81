package lawtest

// Faults of the machine: a host that is stopped, little room for its processes and memory, no file left for any
// program, a full disk. .ci/long runs other tests in a machine whose clock is set to and fro.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/journal"
)

// startReady starts a line in a child process that acts as a host, and returns when the line has written something.
func startReady(m *acpterm.Manager, line string) *acpterm.Terminal {
	term := hosttest.Must(m.Create(context.Background(), shellRequest(line), nil))
	for range term.Follow(context.Background(), 0) {
		break
	}
	return term
}

// hostThatIsStopped is the child whose command stops the host and then itself when it is asked to end. Another command
// ends meanwhile, before its timeout.
func hostThatIsStopped([]string) {
	ctx := context.Background()
	steps := []acpterm.EscalationStep{{Signal: unix.SIGTERM, Wait: 2 * time.Second}}
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: steps}}))
	term := startReady(m, `trap 'kill -STOP $PPID $$; sleep 0.1; exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	options := &acpterm.CommandOptions{Timeout: 3 * time.Second}
	other := hosttest.Must(m.Create(ctx, shellRequest("sleep 0.5; exit 3"), options))
	err := term.Kill(ctx)
	other.Wait(ctx)
	fmt.Println(term.ExitStatus(), err, other.ExitStatus(), other.EndedBy(), m.Close())
}

// A host that was stopped for longer than its timers, as in a paused container, gives a command the time of its kill,
// and does not blame the timeout for the end of another.
func TestAHostThatIsStopped(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "host-that-is-stopped")
	host.Stdout, host.Stderr = &said, os.Stderr
	require.NoError(t, host.Start())
	require.NoError(t, unix.Waitid(unix.P_PID, host.Process.Pid, nil, unix.WSTOPPED, nil))
	time.Sleep(5 * time.Second) // the timers must expire
	require.NoError(t, host.Process.Signal(syscall.SIGCONT))
	require.NoError(t, host.Wait())
	require.Equal(t, "exit code 7 <nil> exit code 3 finished <nil>\n", said.String())
}

// hostOfASmallCgroup is the child whose commands have its cgroup, with little room for memory and processes.
func hostOfASmallCgroup([]string) {
	makeThreads()
	ctx := context.Background()
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}}))
	term := runHosted(m, shellRequest(outOfMemory), acpterm.Limits{})
	fmt.Println(term.ExitStatus(), term.EndedBy(), term.Kill(ctx))
	var err error
	for next := term; err == nil; next, err = m.Create(ctx, shellRequest("exec sleep 300"), nil) {
		term = next
	}
	fmt.Println(errors.Is(err, acpterm.ErrInternal), errors.Is(err, unix.EAGAIN), term.Kill(ctx))
	fmt.Println(runHosted(m, shellRequest("true"), acpterm.Limits{}).ExitStatus(), m.Close())
}

// The kernel's OOM killer ends the command and not the host. Without room for a process, a create fails, and a kill
// makes room.
func TestAHostInASmallCgroup(t *testing.T) {
	parent := cgroupWith(t, "memory", "pids")
	own := filepath.Join(parent, "host")
	require.NoError(t, os.Mkdir(own, 0o755))
	t.Cleanup(func() { require.NoError(t, os.Remove(own)) })
	for file, limit := range map[string]string{"memory.max": "256M", "memory.swap.max": "0", "pids.max": "100"} {
		err := os.WriteFile(filepath.Join(own, file), []byte(limit), 0)
		if !errors.Is(err, os.ErrNotExist) { // without swap, one is missing
			require.NoError(t, err)
		}
	}
	cgroup, err := os.Open(own)
	require.NoError(t, err)
	defer cgroup.Close()
	host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "host-of-a-small-cgroup")
	host.Stderr = os.Stderr
	host.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(cgroup.Fd())}
	said, err := host.Output()
	require.NoError(t, err, "%s", said)
	require.Equal(t, "signal SIGKILL finished <nil>\ntrue true <nil>\nexit code 0 <nil>\n", string(said))
}

// hostWithoutFiles is the child that lets the machine run out of files. It lacks the right to exceed the limit.
func hostWithoutFiles([]string) {
	makeThreads()
	ctx := context.Background()
	steps := []acpterm.EscalationStep{{Signal: unix.SIGKILL, Wait: time.Second}}
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: steps}}))
	tree := startReady(m, `setsid sleep 300 >/dev/null 2>&1 & setsid sleep 300 & echo ready; wait`)
	ends := startReady(m, `echo ready; sleep 1; exit 3`)
	const limit = "/proc/sys/fs/file-max"
	file := hosttest.Must(os.OpenFile(limit, os.O_WRONLY, 0))
	before := hosttest.Must(os.ReadFile(limit))
	hosttest.Must(file.WriteAt([]byte("1"), 0))
	_, err := m.Create(ctx, shellRequest("true"), nil)
	killed := tree.Kill(ctx)
	status, waited := ends.Wait(ctx)
	hosttest.Must(file.WriteAt(before, 0))
	fmt.Println(errors.Is(err, acpterm.ErrInternal), errors.Is(err, unix.ENFILE))
	fmt.Println(errors.Is(killed, acpterm.ErrSurvivors), status, waited, tree.Kill(ctx), m.Close())
}

// If no program can open a file, creates fail, commands run on, and a kill does not claim more than it has done.
func TestAMachineWithoutFiles(t *testing.T) {
	if os.Getenv("ACPTERM_TEST_MACHINE") == "" {
		t.Skip("ACPTERM_TEST_MACHINE=1, which .ci/vm passes on, says that the test may take all files of the machine")
	}
	mark := leaktest.NewMark()
	host := exec.Command("setpriv", "--bounding-set=-sys_admin", hosttest.Executable(), hosttest.ChildMark,
		"host-without-files")
	host.Env = append(os.Environ(), mark)
	host.Stderr = os.Stderr
	said, err := host.Output()
	require.NoError(t, err, "%s", said)
	require.Equal(t, "true true\ntrue exit code 3 <nil> <nil> <nil>\n", string(said))
	require.Empty(t, leaktest.Processes(mark))
}

// fill fills a disk with a file, and returns a function that makes room for a number of bytes on it.
func fill(t *testing.T, name string) (makeRoom func(bytes int64)) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { file.Close() })
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	return func(bytes int64) {
		info, err := file.Stat()
		require.NoError(t, err)
		require.NoError(t, file.Truncate(max(0, info.Size()-bytes)))
	}
}

// smallDisk mounts a disk of 64 KiB, in the test's own namespace.
func smallDisk(t *testing.T) (dir string) {
	dir = t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// A command whose record does not fit on the disk does not run, and leaves no record. Others can be ended.
func TestAJournalOnAFullDisk(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	disk := smallDisk(t)
	dir := filepath.Join(disk, "journal")
	m := hosttest.NewManager(t, &acpterm.Options{Journal: journal.Dir(dir)})
	running := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	makeRoom := fill(t, filepath.Join(disk, "full"))
	refused := func(when string, args ...string) {
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep", args...), nil)
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.ErrorIs(t, err, unix.ENOSPC)
		require.Regexp(t, `^acpterm: create: .*the journal cannot be written: write `+dir+`/term_\w+\.json`+when, err)
		require.Len(t, m.Terminals(), 1)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1)
	}
	refused(`\..*tmp: no space left`)
	require.NoError(t, m.Release(t.Context(), "s", running.ID()))

	running = hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	record, err := os.ReadFile(filepath.Join(dir, string(running.ID())+".json"))
	require.NoError(t, err)
	makeRoom(4096) // for a record without its command's process
	refused(": no space left", strings.Repeat("x", 4096-len(record)+10))
	require.NoError(t, running.Kill(t.Context()))
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	require.NoError(t, m.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The audit file has whole lines only, also of a time without room, and all of them once there is room.
func TestAnAuditFileOnAFullDisk(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	disk := smallDisk(t)
	name := filepath.Join(disk, "audit.json")
	log, err := audit.Open(name)
	require.NoError(t, err)
	m := hosttest.NewManager(t, &acpterm.Options{Record: log.Record})
	running := hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	makeRoom := fill(t, filepath.Join(disk, "full"))
	created := 1
	for err = error(nil); err == nil; created++ {
		_, err = m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
	}
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.ErrorIs(t, err, unix.ENOSPC)
	require.Regexp(t, "^acpterm: create: .*write: no space left on device$", err)
	require.Len(t, m.Terminals(), created-1)
	require.NoError(t, running.Kill(t.Context()))
	makeRoom(32 << 10)
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	require.NoError(t, m.Close())
	require.NoError(t, log.Close())
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	said := make(map[string]int)
	for lines := json.NewDecoder(file); lines.More(); {
		var line struct{ Msg string }
		require.NoError(t, lines.Decode(&line))
		said[line.Msg]++
	}
	require.Equal(t, map[string]int{"decision": created + 1, "end": created + 1}, said)
}
