//go:build unix

package main

// Signals, and what must be gone when the client is: the Unixes have both in a form that can be checked.

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hasEnded reports whether a process has ended. It may be a zombie, where nobody reaps orphans.
func hasEnded(t *testing.T, pid string) bool {
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	stat, _ := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	return syscall.Kill(number, 0) != nil || strings.Contains(string(stat), ") Z ")
}

func requireGone(t *testing.T, pid string) {
	t.Helper()
	require.True(t, hasEnded(t, pid), "process %s lives", pid)
}

func (c *client) signal(sig os.Signal) { require.NoError(c.t, c.cmd.Process.Signal(sig)) }

func TestInterruptCancels(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			c := startClient(t, exampleAgent(), "-prompt", line("sleep"))
			command := c.stdout.await(t, `\| command (\d+)\n`)
			c.signal(sig)
			c.exit(exitInterrupted)
			requireGone(t, command)
			require.Contains(t, c.stdout.String(), "[1] = signal SIGTERM after ")
			require.Contains(t, c.stderr.String(), `the turn ended with "cancelled"`)
		})
	}
}

func TestNothingIsAllowedOnceCancelled(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-asks-cancelled"), "-prompt", "x")
	c.stdout.await(t, "go ahead\n")
	c.signal(os.Interrupt)
	c.exit(exitInterrupted)
	require.Contains(t, c.stdout.String(), `{"outcome":{"outcome":"cancelled"}}`)
}

func TestSecondInterruptOrHangupLeaves(t *testing.T) {
	t.Parallel()
	c := startClient(t, part("agent-that-ignores-cancel"), "-prompt", "x")
	command := c.stdout.await(t, `\| command (\d+)\n`)
	c.signal(os.Interrupt)
	c.stdout.await(t, "so what\n")
	c.signal(os.Interrupt)
	c.exit(exitInterrupted)
	requireGone(t, command)
	require.Contains(t, c.stderr.String(), "left: interrupt")

	c = startClient(t, part("agent-that-ignores-cancel"), "-prompt", "x")
	command = c.stdout.await(t, `\| command (\d+)\n`)
	c.signal(syscall.SIGHUP)
	c.exit(exitInterrupted)
	requireGone(t, command)
}

// The prompt fits into no pipe, so that the client cannot send it, or does not come to that.
func TestInterruptWhenTheAgentDoesNotRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prompt")
	require.NoError(t, os.WriteFile(file, make([]byte, 1<<20), 0o600))
	for name, answers := range map[string][]string{
		"not a request is answered": {},
		"only the prompt is not":    {`{"protocolVersion":1}`, `{"sessionId":"s"}`},
	} {
		t.Run(name, func(t *testing.T) {
			stdin, err := os.Open(file)
			require.NoError(t, err)
			defer stdin.Close()
			c := startClientWith(t, stdin, part("agent-that-stops-listening", answers...))
			agent := c.stderr.await(t, `agent (\d+)\n`)
			c.signal(os.Interrupt)
			c.stderr.await(t, "left: interrupt|cancelling") // it may be about to send the prompt
			c.signal(os.Interrupt)
			c.exit(exitInterrupted)
			requireGone(t, agent)
			require.Contains(t, c.stderr.String(), "left: interrupt")
		})
	}
}

func TestNothingOutlivesTheClient(t *testing.T) {
	t.Parallel() // it waits for an agent that takes its time
	c := startClient(t, part("agent-that-stays"), "-prompt", "x")
	c.exit(0)
	requireGone(t, c.stdout.await(t, `^> agent (\d+)\n`))
	requireGone(t, c.stdout.await(t, `\| command (\d+)\n`))
}

func init() {
	parts["agent-that-shouts-and-ends"] = func(args []string) {
		play(func(*scripted) string {
			os.Stderr.Write(bytes.Repeat([]byte("x\n"), 1<<20))
			os.WriteFile(args[0]+".part", fmt.Append(nil, os.Getpid()), 0o600)
			os.Rename(args[0]+".part", args[0])
			return "end_turn"
		})
	}
}

// Nobody reads what the agent writes to standard error: that does not hold up the agent's end, nor an interrupt.
func TestNobodyReadsStandardError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "done")
	unread, stderr, err := os.Pipe()
	require.NoError(t, err)
	defer unread.Close()
	command := clientCommand(part("agent-that-shouts-and-ends", file), "-prompt", "x")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	stderr.Close()
	require.Eventually(t, func() bool { return exists(file) }, patience, 10*time.Millisecond)
	agent, err := os.ReadFile(file)
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	for interrupts := time.NewTicker(10 * time.Millisecond); ; <-interrupts.C { // the first may come in the turn
		cmd.Process.Signal(os.Interrupt)
		select {
		case <-ended:
			require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
			requireGone(t, string(agent))
			return
		default:
		}
	}
}

// As in "client | head".
func TestNobodyReadsTheOutput(t *testing.T) {
	t.Parallel()
	goOn, create := file(t)
	c := startClient(t, exampleAgent(), "-prompt", line("steps", goOn)+"; "+line("sleep"))
	c.stdout.await(t, "step 1\n")
	require.NoError(t, c.stdout.pipe.Close())
	create()
	c.exit(exitFailed)
	require.Contains(t, c.stderr.String(), "cannot print")
}
