//go:build linux || darwin || freebsd

package acpterm_test

// The laws on the Go API, as far as they need what only the Unixes have: signals that a command can handle,
// sh, files that are not executable.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// shellRequest asks for a line of sh.
func shellRequest(line string) acpterm.CreateTerminalRequest {
	return commandRequest("/bin/sh", "-c", line)
}

func TestWaitOfAShellLineWithABackgroundChild(t *testing.T) {
	m := newManager(t, nil)
	out := run(t, m, shellRequest("echo done; sleep 3600 &"))
	require.Equal(t, "done\n", out.Output)
	require.Equal(t, uint32(0), *out.ExitStatus.ExitCode)
}

// What the command left running goes on being captured until its tree is ended.
func TestOutputGoesOnAfterTheCommand(t *testing.T) {
	m := newManager(t, nil)
	file := filepath.Join(t.TempDir(), "go")
	line := fmt.Sprintf("(until test -e %s; do sleep 0.01; done; echo late) & echo early", file)
	term := finish(t, m, commandRequest(line))
	require.Equal(t, "early\n", term.Output().Output)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	awaitOutput(t, term, "early\nlate\n")
}

func TestCommandInheritsItsThreeDescriptorsOnly(t *testing.T) {
	m := newManager(t, nil)
	careless, err := syscall.Dup(int(os.Stdin.Fd())) // without close-on-exec, as C code would
	require.NoError(t, err)
	defer syscall.Close(careless)
	out := run(t, m, shellRequest(`for i in $(seq 0 99); do if [ -e /dev/fd/$i ]; then echo $i; fi; done`))
	require.Equal(t, "0\n1\n2\n", out.Output)
}

// A release whose caller does not wait for it is completed all the same.
func TestReleaseGoesOnWithoutItsCaller(t *testing.T) {
	m := newManager(t, &acpterm.Options{
		Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 50 * time.Millisecond}},
	})
	term := createReady(t, m, childRequest("stubborn"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.Release(ctx, "s", term.ID()), acpterm.ErrCancelled)
	<-term.Done()
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}

func TestCreateWithAnEndedContextRunsNothing(t *testing.T) {
	m := newManager(t, nil)
	file := filepath.Join(t.TempDir(), "ran")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := m.Create(ctx, commandRequest("touch", file), nil)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.NoFileExists(t, file)
}

// Somebody outside of the tree may hold the output, here this very process. The release is complete all the
// same, and leaves that somebody alone.
func TestReleaseDoesNotWaitForAStrangerWhoHoldsTheOutput(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, commandRequest("echo $$; exec sleep 3600"))
	awaitOutput(t, term, "\n")
	stranger, err := os.OpenFile(fmt.Sprintf("/proc/%s/fd/1", strings.TrimSpace(term.Output().Output)), os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system has no /proc to open another process's output by")
	}
	require.NoError(t, err)
	defer stranger.Close()
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	_, err = stranger.WriteString("x")
	require.ErrorIs(t, err, syscall.EPIPE, "nobody reads it any more")
	for range term.Follow(t.Context(), 0) { // and this ends
	}
}
