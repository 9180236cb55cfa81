package lawtest

// The trace for reports of bugs, ACPTERM_DEBUG=proc: what it says about the end of a tree, and what it never says.

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// tracedHost kills a tree with a daemon, a child in another session, and a process that ignores SIGTERM, while a
// stranger runs.
func tracedHost([]string) {
	stranger := exec.Command("sleep", "300")
	stranger.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the trace leaves out sessions of other PID namespaces
	defer stranger.Wait()
	defer func() { stranger.Process.Kill() }()
	m, err := acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}})
	if err != nil {
		panic(err)
	}
	// The shells that say ready execute nothing afterwards: the environment of a process that does cannot be read.
	const line = `(env -u SECRET setsid sh -c 'echo ready; exec >/dev/null 2>&1; sleep 300; :' "secret argument" &)
		setsid sh -c 'trap "" TERM; echo ready; sleep 300; :' "secret argument" & wait`
	term, err := m.Create(context.Background(), acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "sh", Args: []string{"-c", line, "secret argument"},
		Env: []acpterm.EnvVariable{{Name: "SECRET", Value: "secret variable"}},
	}, nil)
	if err != nil {
		panic(err)
	}
	for chunk := range term.Follow(context.Background(), 0) {
		if chunk.End == int64(len("ready\nready\n")) {
			break
		}
	}
	if err := stranger.Start(); err != nil {
		panic(err)
	}
	if err := term.Kill(context.Background()); err != nil {
		panic(err)
	}
	m.Close()
}

// runTracedHost returns the trace of a tracedHost.
func runTracedHost(t *testing.T, debug string) string {
	t.Helper()
	host := exec.Command(hosttest.Executable(), hosttest.ChildArgs("traced-host")[1:]...)
	host.Env = append(os.Environ(), "ACPTERM_DEBUG="+debug)
	var stderr strings.Builder
	host.Stderr = &stderr
	require.NoError(t, host.Run(), "%s", &stderr)
	return stderr.String()
}

func TestTheTraceTellsHowATreeEnds(t *testing.T) {
	trace := runTracedHost(t, "proc")
	for _, want := range []string{
		`msg="acpterm: ending a tree" leader=`, `signal=SIGTERM within=`, `signal=SIGKILL within=`,
		`msg="acpterm: examines" leader=`, `program=sh`,
		`why="has the tree's mark in its environment"`,
		`msg="acpterm: sends SIGTERM" leader=`, `why="the leader's process group"`, `why="the process alone"`,
		`msg="acpterm: sends SIGKILL" leader=`,
		`msg="acpterm: leaves alone" leader=`,
		`result="not gone in time" after=`, `result=gone after=`,
	} {
		require.Contains(t, trace, want)
	}
	require.NotContains(t, trace, "secret")
	require.Empty(t, runTracedHost(t, ""))
}

// BenchmarkKill shows that the trace costs nothing when it is off.
func BenchmarkKill(b *testing.B) {
	m := hosttest.NewManager(b, nil)
	for b.Loop() {
		term := hosttest.CreateReady(b, m, hosttest.CommandRequest("/bin/sh", "-c", "sleep 300 & echo ready; wait"))
		require.NoError(b, term.Kill(b.Context()))
		require.NoError(b, m.Release(b.Context(), "s", term.ID()))
	}
}
