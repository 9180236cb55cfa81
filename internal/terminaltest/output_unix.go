//go:build linux || darwin || freebsd

package terminaltest

// Output and ends of waits on Unix, tested with a shell.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

func outputUnixTests() []test {
	return []test{
		{"WaitOfAShellLineWithABackgroundChild", TestWaitOfAShellLineWithABackgroundChild},
		{"OutputGoesOnAfterTheCommand", TestOutputGoesOnAfterTheCommand},
		{"CommandInheritsItsThreeDescriptorsOnly", TestCommandInheritsItsThreeDescriptorsOnly},
		{"ReleaseGoesOnWithoutItsCaller", TestReleaseGoesOnWithoutItsCaller},
		{"CreateWithAnEndedContextRunsNothing", TestCreateWithAnEndedContextRunsNothing},
	}
}

func TestWaitOfAShellLineWithABackgroundChild(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	out := RunToEnd(t, m, ShellRequest("echo done; sleep 3600 &"))
	require.Equal(t, "done\n", out.Output)
	require.Equal(t, uint32(0), *out.ExitStatus.ExitCode)
}

// Output of processes left running by the command is captured until its tree is ended.
func TestOutputGoesOnAfterTheCommand(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	file := filepath.Join(p.TempDir(t), "go")
	line := fmt.Sprintf("(until test -e %s; do sleep 0.01; done; echo late) & echo early", file)
	term := Finish(t, m, CommandRequest(line))
	require.Equal(t, "early\n", term.Output().Output)
	require.NoError(t, p.writeFile(file, nil, 0o600))
	AwaitOutput(t, term, "early\nlate\n")
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

func TestCreateWithAnEndedContextRunsNothing(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	file := filepath.Join(p.TempDir(t), "ran")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Create(ctx, CommandRequest("touch", file), nil)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.NoFileExists(t, p.path(file))
}
