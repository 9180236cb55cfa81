//go:build linux || darwin || freebsd

package terminaltest

// Output and ends of waits on Unix, tested with a shell.

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

func outputUnixTests() []test {
	return []test{
		{"WaitOfAShellLineWithABackgroundChild", TestWaitOfAShellLineWithABackgroundChild},
		{"CommandInheritsItsThreeDescriptorsOnly", TestCommandInheritsItsThreeDescriptorsOnly},
		{"ReleaseGoesOnWithoutItsCaller", TestReleaseGoesOnWithoutItsCaller},
	}
}

func TestWaitOfAShellLineWithABackgroundChild(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	out := RunToEnd(t, m, ShellRequest("echo done; sleep 3600 &"))
	require.Equal(t, "done\n", out.Output)
	require.Equal(t, uint32(0), *out.ExitStatus.ExitCode)
}

func TestCommandInheritsItsThreeDescriptorsOnly(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	careless, err := syscall.Dup(int(os.Stdin.Fd())) // without close-on-exec, as C code would
	require.NoError(t, err)
	defer syscall.Close(careless)
	out := RunToEnd(t, m, ShellRequest(`for i in $(seq 0 99); do if [ -e /dev/fd/$i ]; then echo $i; fi; done`))
	require.Equal(t, "0\n1\n2\n", out.Output)
}

// A release is completed even if its caller does not wait for it.
func TestReleaseGoesOnWithoutItsCaller(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 50 * time.Millisecond}},
		},
	})
	term := CreateReady(t, m, p.Child("stubborn"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.Release(ctx, "s", term.ID()), acpterm.ErrCancelled)
	<-term.Done()
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}
