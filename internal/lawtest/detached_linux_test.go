package lawtest

// Processes that outlive a command's terminal with Options.KeepDetached, and those that do not.

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
)

// Each line starts one process that the shell does not wait for, and prints its number.
const (
	detached      = `setsid sh -c 'echo $$; exec sleep 300 <&- >&- 2>&-' & wait`
	detachedTwice = `setsid sh -c 'setsid sh -c "echo \$\$; exec sleep 300 <&- >&- 2>&-" & wait' & wait`
	inSameSession = `sleep 300 <&- >&- 2>&- & echo $!`
	withOutput    = `setsid sh -c 'echo $$; exec sleep 300' & wait`
)

func TestKeepDetached(t *testing.T) {
	for _, c := range []struct {
		name, line string
		keep, ends bool
	}{
		{"a session of its own", detached, true, false},
		{"a session of its own, by default", detached, false, true},
		{"a session below another one", detachedTwice, true, false},
		{"the command's session", inSameSession, true, true},
		{"a hold on the output", withOutput, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
				KeepDetached: c.keep,
				Commands:     acpterm.CommandOptions{Escalation: quickly},
			}))
			t.Cleanup(func() { m.Close() }) // if it fails, the next tests do not wait for what is left
			// The shell that starts it exists or is gone, and the terminal is killed, released or closed.
			for i, end := range []func(*acpterm.Terminal) error{
				func(term *acpterm.Terminal) error { return term.Kill(t.Context()) },
				func(term *acpterm.Terminal) error { return m.Release(t.Context(), "s", term.ID()) },
				func(term *acpterm.Terminal) error { return term.Kill(t.Context()) },
				func(term *acpterm.Terminal) error { return m.Release(t.Context(), "s", term.ID()) },
				func(*acpterm.Terminal) error { return m.Close() },
			} {
				line := c.line
				if i%2 == 1 {
					line = strings.TrimSuffix(line, " wait")
				}
				term := hosttest.Create(t, m, shellRequest(line))
				if i > 1 {
					term.Gone() // what it finds is not ended because of that
				}
				hosttest.AwaitOutput(t, term, "\n")
				pid := hosttest.Number(strings.TrimSpace(term.Output().Output))
				started := hosttest.StartTime(pid)
				require.NotEmpty(t, started)
				if !c.ends { // otherwise it is not past execve, and still has the output
					awaitNoOutput(t, pid)
				}
				require.NoError(t, end(term))
				if c.ends {
					require.NotEqual(t, started, hosttest.StartTime(pid), "it runs")
					continue
				}
				require.Equal(t, started, hosttest.StartTime(pid), "it was ended")
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) // ours, as its number and start time show
			}
		})
	}
}

// awaitNoOutput waits until a process has no open descriptors.
func awaitNoOutput(t *testing.T, pid int) {
	t.Helper()
	for {
		entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
		require.NoError(t, err)
		if len(entries) == 0 {
			return
		}
	}
}

// Processes in the command's own session are not detached, even after the host has reaped the command.
func TestKeepDetachedAfterTheHostReaped(t *testing.T) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
		KeepDetached: true,
		Commands:     acpterm.CommandOptions{Escalation: quickly},
	}))
	term := hosttest.Create(t, m, shellRequest(`trap "" TERM; sleep 300 <&- >&- 2>&- & echo $!`))
	hosttest.AwaitOutput(t, term, "\n")
	pid := hosttest.Number(strings.TrimSpace(term.Output().Output))
	started := hosttest.StartTime(pid)
	require.NotEmpty(t, started)
	leader := term.Info().PID
	_, err := syscall.Wait4(leader, nil, 0, nil)
	require.NoError(t, err)
	require.NoError(t, term.Kill(t.Context()))
	require.NotEqual(t, started, hosttest.StartTime(pid), "it runs")
	require.NoError(t, m.Close())
}

// namespaceStub promises a PID namespace.
type namespaceStub struct{}

func (namespaceStub) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return acpterm.Wrapped{Command: p.Command, PIDNamespace: true}, nil
}

// A process outside the sandbox does not belong to the tree, even if it received the output.
func TestKeepDetachedInASandbox(t *testing.T) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
		KeepDetached: true,
		Commands:     acpterm.CommandOptions{Sandbox: namespaceStub{}, Escalation: quickly},
	}))
	t.Cleanup(func() { m.Close() }) // if the test has failed
	term := hosttest.Create(t, m, shellRequest("echo ready; exec sleep 300"))
	hosttest.AwaitOutput(t, term, "ready")
	output, err := os.OpenFile("/proc/"+strconv.Itoa(term.Info().PID)+"/fd/1", os.O_WRONLY, 0)
	require.NoError(t, err)
	outsider := exec.Command("sleep", "300")
	outsider.Stdout, outsider.SysProcAttr = output, &syscall.SysProcAttr{Setsid: true}
	leaktest.Start(t, outsider)
	require.NoError(t, output.Close())
	require.NoError(t, term.Kill(t.Context()))
	require.NotEmpty(t, hosttest.StartTime(outsider.Process.Pid), "it was ended")
	require.NoError(t, outsider.Process.Kill())
	outsider.Wait()
	require.NoError(t, m.Close())
}
