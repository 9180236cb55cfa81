//go:build unix

package acpterm_test

// The laws on the Go API, as far as they need what only the Unixes have: signals that a command can handle,
// sh, files that are not executable.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// A command that handles SIGTERM ends in its own way; the exit code it chooses is what is reported.
func TestKillIsGracefulFirst(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, childRequest("polite"))
	awaitOutput(t, term, "ready")
	require.NoError(t, term.Kill(t.Context()))
	out := term.Output()
	require.Equal(t, "ready\nbye\n", out.Output)
	require.Equal(t, uint32(7), *out.ExitStatus.ExitCode)
}

func TestKillReportsTheSignal(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, childRequest("sleep"))
	awaitOutput(t, term, "ready")
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, &acpterm.TerminalExitStatus{Signal: new("SIGTERM"), Meta: endedBy(acpterm.EndedByKill)}, term.Output().ExitStatus)
}

func TestKillForcesAfterTheGracePeriod(t *testing.T) {
	m := newManager(t, &acpterm.Options{
		Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 50 * time.Millisecond}},
	})
	term := create(t, m, childRequest("stubborn"))
	awaitOutput(t, term, "ready")
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}

// The grace is an hour: only the second Kill can end this.
func TestSecondKillForces(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, childRequest("stubborn"),
		acpterm.WithEscalation(acpterm.EscalationStep{Signal: syscall.SIGTERM, Wait: time.Hour}))
	awaitOutput(t, term, "ready")

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := term.Kill(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, acpterm.StateRunning, term.State())

	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}

// Killing an ended command ends what it left running, though its leader is gone; with SIGKILL where it has to.
func TestKillEndsWhatTheCommandLeft(t *testing.T) {
	for _, child := range []string{"holder", "stubborn-holder"} {
		t.Run(child, func(t *testing.T) {
			m := newManager(t, &acpterm.Options{
				Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 50 * time.Millisecond}},
			})
			term := create(t, m, childRequest(child))
			_, err := term.Wait(t.Context())
			require.NoError(t, err)
			left := number(strings.TrimSpace(term.Output().Output))
			require.NoError(t, syscall.Kill(left, 0), "it runs on")

			require.NoError(t, term.Kill(t.Context()))
			require.False(t, runs(left))
			require.Equal(t, acpterm.StateFinished, term.State())
		})
	}
}

// runs reports whether a process is there and no zombie.
func runs(pid int) bool {
	if runtime.GOOS == "linux" {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && !strings.Contains(string(stat), ") Z ")
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func TestWaitOfAShellLineWithABackgroundChild(t *testing.T) {
	m := newManager(t, nil)
	out := run(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c", "echo done; sleep 3600 &"}})
	require.Equal(t, "done\n", out.Output)
	require.Equal(t, uint32(0), *out.ExitStatus.ExitCode)
}

// What the command left running goes on being captured until its tree is ended.
func TestOutputGoesOnAfterTheCommand(t *testing.T) {
	m := newManager(t, nil)
	file := filepath.Join(t.TempDir(), "go")
	term := create(t, m, acpterm.CreateTerminalRequest{SessionID: "s",
		Command: fmt.Sprintf("(until test -e %s; do sleep 0.01; done; echo late) & echo early", file)})
	_, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "early\n", term.Output().Output)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	awaitOutput(t, term, "early\nlate\n")
}

func TestCommandSeesEndOfInputAndNoTerminal(t *testing.T) {
	m := newManager(t, nil)
	require.Equal(t, `"" <nil> eof`, run(t, m, childRequest("stdin")).Output)
	require.Equal(t, "true", run(t, m, childRequest("tty")).Output)
}

func TestCommandInheritsItsThreeDescriptorsOnly(t *testing.T) {
	m := newManager(t, nil)
	careless, err := syscall.Dup(int(os.Stdin.Fd())) // without close-on-exec, as C code would
	require.NoError(t, err)
	defer syscall.Close(careless)
	out := run(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c",
		`i=0; while [ $i -lt 100 ]; do if [ -e /dev/fd/$i ]; then echo $i; fi; i=$((i+1)); done`}})
	require.Equal(t, "0\n1\n2\n", out.Output)
}

func TestErrorsOfCreate(t *testing.T) {
	m := newManager(t, nil)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("text"), 0o600))
	noShebang := filepath.Join(dir, "no-shebang")
	require.NoError(t, os.WriteFile(noShebang, []byte("\x00text"), 0o700))

	for _, bad := range []struct {
		change func(*acpterm.CreateTerminalRequest)
		kind   acpterm.Kind
		field  string
	}{
		{func(r *acpterm.CreateTerminalRequest) { r.SessionID = "" }, acpterm.ErrInvalidParams, "sessionId"},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = "" }, acpterm.ErrInvalidParams, "command"},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = "a\x00b" }, acpterm.ErrInvalidParams, "command"},
		{func(r *acpterm.CreateTerminalRequest) { r.Args = []string{"a", "\x00"} }, acpterm.ErrInvalidParams, "args[1]"},
		{func(r *acpterm.CreateTerminalRequest) { r.Cwd = "relative" }, acpterm.ErrInvalidParams, "cwd"},
		{func(r *acpterm.CreateTerminalRequest) { r.Cwd = dir + "/missing" }, acpterm.ErrInvalidParams, "cwd"},
		{func(r *acpterm.CreateTerminalRequest) { r.Cwd = plain }, acpterm.ErrInvalidParams, "cwd"},
		{func(r *acpterm.CreateTerminalRequest) { r.Cwd = dir + "\x00" }, acpterm.ErrInvalidParams, "cwd"},
		{func(r *acpterm.CreateTerminalRequest) { r.Env = []acpterm.EnvVariable{{Name: ""}} }, acpterm.ErrInvalidParams, "env[0].name"},
		{func(r *acpterm.CreateTerminalRequest) { r.Env = []acpterm.EnvVariable{{Name: "A"}, {Name: "B=C"}} }, acpterm.ErrInvalidParams, "env[1].name"},
		{func(r *acpterm.CreateTerminalRequest) {
			r.Env = []acpterm.EnvVariable{{Name: "A", Value: "secret\x00"}}
		}, acpterm.ErrInvalidParams, "env[0].value"},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = plain }, acpterm.ErrNotExecutable, "command"},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = dir }, acpterm.ErrNotExecutable, "command"},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = noShebang }, acpterm.ErrNotExecutable, "command"},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = "no-such-program" }, acpterm.ErrCommandNotFound, ""},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = dir + "/missing" }, acpterm.ErrCommandNotFound, ""},
		{func(r *acpterm.CreateTerminalRequest) { r.Command = "no such program"; r.Args = []string{"x"} }, acpterm.ErrCommandNotFound, ""},
	} {
		req := acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: []string{"-c", ":"}}
		bad.change(&req)
		_, err := m.Create(t.Context(), req)
		require.ErrorIs(t, err, bad.kind, "%+v", req)
		e, ok := errors.AsType[*acpterm.Error](err)
		require.True(t, ok)
		require.Equal(t, bad.field, e.Field, "%v", err)
		require.Equal(t, "create", e.Op)
		require.NotContains(t, err.Error(), "secret")
	}
	require.Empty(t, m.Terminals(), "what failed is not known")
}

// A release whose caller does not wait for it is completed all the same.
func TestReleaseGoesOnWithoutItsCaller(t *testing.T) {
	m := newManager(t, &acpterm.Options{
		Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 50 * time.Millisecond}},
	})
	term := create(t, m, childRequest("stubborn"))
	awaitOutput(t, term, "ready")
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
	_, err := m.Create(ctx, acpterm.CreateTerminalRequest{SessionID: "s", Command: "touch", Args: []string{file}})
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.NoFileExists(t, file)
}

// Law 2: a wait ends when the command does, whoever holds the pipe, and its output is whole by then. The
// holder sleeps for an hour; a wait that waited for it would never come back.
func TestWaitEndsWithTheCommand(t *testing.T) {
	m := newManager(t, nil)
	tail := strings.Repeat("x", 60_000) // more than one read, and it fits into the pipe
	for range 20 {
		out := run(t, m, childRequest("holder", tail))
		require.True(t, strings.HasSuffix(out.Output, "\n"+tail))
		require.NotNil(t, out.ExitStatus)
	}
}

// Somebody outside of the tree may hold the output, here this very process. The release is complete all the
// same, and leaves that somebody alone.
func TestReleaseDoesNotWaitForAStrangerWhoHoldsTheOutput(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "echo $$; exec sleep 3600"})
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
