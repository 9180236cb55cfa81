package lawtest

// Faults of the machine: a host that is stopped.

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
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
