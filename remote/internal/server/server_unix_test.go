//go:build unix

package server_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// The exit arrives when the command ends, after all its own output, without waiting for its children.
func TestExitComesBeforeTheOutputsEnd(t *testing.T) {
	t.Parallel()
	c := serve(t)
	number, p := c.start(c.shell("sleep 300 & echo x; exit 4"))
	require.Equal(t, frame.Exit{Process: number, Code: 4}, c.awaitExit(p))
	require.Equal(t, "x\n", string(c.now(p).output))
	require.False(t, c.now(p).gone)
	require.False(t, c.now(p).endedOutput)
	c.signal(number, "SIGTERM")
	c.await(func() bool { return p.gone && p.endedOutput })
	c.close(number, p)
}

// While nothing reads the output, commands wait, but signals, starts and closes do not.
func TestSignalsPassASlowReader(t *testing.T) {
	t.Parallel()
	c := serve(t)
	number, p := c.start(c.shell("exec yes"))
	c.awaitOutput(p, "y\n")
	c.gate.Lock()
	file := t.TempDir() + "/ran"
	other := c.begin(c.shell("exec 2>&1; echo x; echo > " + file + "; exec yes"))
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, waitLimit, pollPause)
	c.signal(number, "SIGKILL")
	c.tell(frame.Request{Close: &frame.Process{Process: number}})
	c.signal(other, "SIGTERM")
	requireNone(t, c.mark)
	c.gate.Unlock()
	c.await(func() bool { return p.isClosed && c.processes[other].gone })
	require.Equal(t, "SIGTERM", c.now(c.of(other)).exit.Signal)
	c.close(other, c.of(other))
}

// The output of a tree arrives before Gone, even with a slow reader.
func TestGoneComesAfterTheOutput(t *testing.T) {
	t.Parallel()
	c := serve(t)
	path, release := fifo(t)
	number, p := c.start(c.shell("(trap '' TERM; echo ready; read x < " + path + "; head -c 50000 /dev/zero) & exit 0"))
	c.awaitOutput(p, "ready")
	c.awaitExit(p)
	firehose, other := c.start(c.shell("exec yes"))
	c.awaitOutput(other, "y\n")
	c.gate.Lock()
	c.signal(number, "SIGTERM")
	release()
	c.signal(firehose, "SIGTERM")
	requireNone(t, c.mark)
	c.gate.Unlock()
	c.await(func() bool { return p.gone && other.gone })
	require.Equal(t, len("ready\n")+50000, len(c.now(p).output))
	c.close(number, p)
	c.close(firehose, other)
}

// A new signal does not wait for the previous one, and reaches the whole tree.
func TestSignals(t *testing.T) {
	t.Parallel()
	c := serve(t)
	number, p := c.start(c.shell("trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"))
	c.awaitOutput(p, "ready")
	c.signal(number, "SIGTERM")
	require.Equal(t, frame.Exit{Process: number, Code: 5}, c.awaitExit(p))
	c.await(func() bool { return p.gone })
	c.close(number, p)

	number, p = c.start(c.shell("trap '' TERM; trap 'echo int' INT; echo ready; while :; do sleep 0.01; done"))
	c.awaitOutput(p, "ready")
	c.signal(number, "SIGTERM")
	c.signal(number, "SIGINT")
	c.awaitOutput(p, "int")
	require.Nil(t, c.now(p).exit)
	c.end(number, p)
	require.Equal(t, "SIGKILL", c.now(p).exit.Signal)

	number, p = c.start(c.shell("setsid sh -c 'trap \"\" TERM; echo ready; setsid sleep 300' & exit 0"))
	c.awaitOutput(p, "ready")
	c.awaitExit(p)
	c.signal(number, "SIGTERM")
	c.end(number, p)
	require.Empty(t, marked(c.mark))
}

// Close gives up a running process and is answered, even if the process is unknown.
func TestClose(t *testing.T) {
	t.Parallel()
	c := serve(t)
	first, p := c.start(c.shell("echo x; exec sleep 300"))
	c.awaitOutput(p, "x")
	c.close(first, p)
	require.Nil(t, c.now(p).exit)

	for range 5 { // during and after a failing start
		unknown := c.begin(frame.Start{})
		c.close(unknown, c.of(unknown))
		require.NotNil(t, c.answered(unknown).Error)
		unknown = c.begin(frame.Start{})
		require.NotNil(t, c.answered(unknown).Error)
		c.close(unknown, c.of(unknown))
	}

	number, p := c.start(c.shell("exec sleep 300"))
	c.signal(number, "SIGKILL") // is sent before the close
	c.close(number, p)
	require.Eventually(t, func() bool { return len(marked(c.mark)) <= 1 }, waitLimit, pollPause)
	require.NoError(t, syscall.Kill(c.now(c.of(first)).started.PID, syscall.SIGKILL)) // a child of this process
	requireNone(t, c.mark)
}

// Limits hold from the first instruction on, and are reported.
func TestLimits(t *testing.T) {
	t.Parallel()
	c := serve(t)
	start := c.shell("ulimit -n")
	for _, l := range []frame.Limit{
		{Name: "Unknown", Value: 1}, {Name: "Nice", Value: 20}, {Name: "Memory", Value: 1 << 63}, {Name: "OpenFiles"},
	} {
		start.Limits = []frame.Limit{l}
		e := c.refused(start)
		require.Equal(t, "internal", e.Kind)
		require.Equal(t, "Limits."+l.Name, e.Field)
		require.NotEmpty(t, e.Reason)
	}
	start.Limits = []frame.Limit{{Name: "OpenFiles", Value: 40}}
	if !enforcesLimits {
		require.Equal(t, "Limits.OpenFiles", c.refused(start).Field)
		return
	}
	number, p := c.start(start)
	require.Equal(t, []frame.Limit{{Name: "OpenFiles", Value: 40, By: "rlimit"}}, c.now(p).started.Limits)
	c.awaitExit(p)
	require.Equal(t, "40\n", string(c.now(p).output))
	c.end(number, p)
}
