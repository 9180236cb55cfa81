package lawtest

// Faults of the machine: a host that is stopped, no file left for any program, a full disk. Its cgroup's lack of memory
// or processes is in cgroup_linux_test.go. .ci/long also runs other tests in a machine whose clock is set to and fro.

import (
	"bytes"
	"context"
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
	term := startReady(m, `trap 'kill -STOP $PPID $$; sleep 0.1; exit 7' TERM; echo ready; while :; do sleep 0.1; done`)
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

// hostWithoutFiles is the child that lets the machine run out of files. It lacks the right to exceed the limit.
func hostWithoutFiles([]string) {
	ctx := context.Background()
	steps := []acpterm.EscalationStep{{Signal: unix.SIGKILL, Wait: time.Second}}
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: steps}}))
	tree := startReady(m, `setsid sleep 300 >/dev/null 2>&1 & setsid sleep 300 & echo ready; wait`)
	ends := startReady(m, `echo ready; sleep 1; exit 3`)
	file := hosttest.Must(os.OpenFile("/proc/sys/fs/file-max", os.O_WRONLY, 0))
	before := hosttest.Must(os.ReadFile(file.Name()))
	hosttest.Must(file.WriteAt([]byte("1"), 0))
	_, err := m.Create(ctx, shellRequest("true"), nil)
	killed := tree.Kill(ctx)
	status, waited := ends.Wait(ctx)
	hosttest.Must(file.WriteAt(before, 0))
	fmt.Println(errors.Is(err, acpterm.ErrInternal), errors.Is(err, unix.ENFILE))
	fmt.Println(errors.Is(killed, acpterm.ErrSurvivors), status, waited)
	fmt.Println(tree.Kill(ctx), m.Close(), leaktest.Running("ACPTERM_TERMINAL="+string(tree.ID())))
}

// If no program can open a file, creates fail, commands run on, and a kill does not claim more than it has done.
func TestAMachineWithoutFiles(t *testing.T) {
	if os.Getenv("ACPTERM_TEST_MACHINE") == "" {
		t.Skip("ACPTERM_TEST_MACHINE=1, which .ci/vm passes on, says that the test may take all files of the machine")
	}
	args := append([]string{"--bounding-set=-sys_admin"}, hosttest.ChildArgs("host-without-files")...)
	host := exec.Command("setpriv", args...)
	require.Equal(t, "true true\ntrue exit code 3 <nil>\n<nil> <nil> []\n", outputOf(t, host))
}

// A command whose journal entry does not fit on the disk does not run, and leaves no part of an entry.
func TestAJournalOnAFullDisk(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	disk := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	dir, full := filepath.Join(disk, "journal"), filepath.Join(disk, "full")
	m := hosttest.NewManager(t, &acpterm.Options{Journal: journal.Dir(dir)})
	const line = "exec sleep 300 #"
	term := hosttest.Create(t, m, shellRequest(line))
	entry, err := os.ReadFile(filepath.Join(dir, string(term.ID())+".json"))
	require.NoError(t, err)
	require.ErrorIs(t, os.WriteFile(full, make([]byte, 64<<10), 0o600), unix.ENOSPC)
	refused := func(line, file string) {
		_, err := m.Create(t.Context(), shellRequest(line), nil)
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.ErrorIs(t, err, unix.ENOSPC)
		require.Regexp(t, "^acpterm: create: .*: write "+dir+file+": no space left on device$", err)
	}
	refused(line, `/term_\w+\.json\..*tmp`)
	require.NoError(t, term.Kill(t.Context())) // makes room for an entry, but not for its process
	refused(line+strings.Repeat("x", 4096-len(entry)+10), `/term_\w+\.json`)
	require.NoError(t, os.Remove(full))
	hosttest.Create(t, m, shellRequest(line))
	require.NoError(t, m.Close())
	require.Empty(t, hosttest.Must(filepath.Glob(dir+"/*")))
}
