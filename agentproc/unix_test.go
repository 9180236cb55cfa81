//go:build linux || darwin || freebsd

package agentproc_test

// Agents' processes on Unix: the embedder's attributes, and processes that leave the agent's session.

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The embedder's attributes are kept, and the agent leads a session.
func TestAgentsAttributes(t *testing.T) {
	for name, attributes := range map[string]*syscall.SysProcAttr{
		"none": nil, "a group": {Setpgid: true}, "a session": {Setsid: true},
	} {
		t.Run(name, func(t *testing.T) {
			var before syscall.SysProcAttr
			if attributes != nil {
				before = *attributes
			}
			cmd := agentCommand("echo")
			cmd.SysProcAttr = attributes
			a := startAgent(t, cmd, nil)
			session, err := unix.Getsid(a.PID())
			require.NoError(t, err)
			require.Equal(t, a.PID(), session)
			if attributes != nil {
				require.Equal(t, before, *attributes)
			}
		})
	}
	for name, attributes := range map[string]*syscall.SysProcAttr{
		"another's group": {Setpgid: true, Pgid: os.Getpid()}, "foreground": {Foreground: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := leaktest.Descriptors()
			cmd := agentCommand("echo")
			cmd.SysProcAttr = attributes
			a, err := agentproc.Start(t.Context(), cmd, nil)
			if err == nil {
				a.Close()
			}
			require.ErrorIs(t, err, acpterm.ErrInvalidParams)
			require.ErrorContains(t, err, "cmd.SysProcAttr")
			require.LessOrEqual(t, leaktest.Descriptors(), before)
		})
	}
}

func TestAgentThatIsNotExecutable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	cmd := agentCommand("echo")
	cmd.Path = file
	_, err := agentproc.Start(t.Context(), cmd, nil)
	require.ErrorIs(t, err, acpterm.ErrNotExecutable)
}

// Processes that left the agent's session and ignore SIGTERM end with the agent.
func TestWhatLeftAnAgentsSessionEndsWithIt(t *testing.T) {
	agents := []string{"setsid", "ignores-sigterm", "grandchild-ignores-sigterm"}
	if runtime.GOOS == "linux" { // other systems do not find a daemon
		agents = append(agents, "setsid-silent-naked", "daemon", "naked-daemon-with-output")
	}
	for _, agent := range agents {
		t.Run(agent, func(t *testing.T) {
			a := startAgent(t, agentCommand(agent), &agentproc.Options{Grace: quick})
			var said strings.Builder
			buf := make([]byte, 100)
			for !strings.Contains(said.String(), "ready") {
				n, err := a.Read(buf)
				require.NoError(t, err)
				said.Write(buf[:n])
			}
			require.NoError(t, a.Close())
			_, err := io.ReadAll(a)
			require.NoError(t, err)
		})
	}
}

// An agent that continues after the end of its input cleans up on SIGTERM. The programs that it uses for this are not
// signalled.
func TestAgentsCleanUpIsLeftAlone(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command("/bin/sh", "-c", terminaltest.CleanUp(lock, "TERM"))
	a := startAgent(t, cmd, &agentproc.Options{Grace: 3 * time.Second})
	_, err := a.Read(make([]byte, 100))
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.Equal(t, "exit code 7", awaitAgent(t, a))
	require.NoFileExists(t, lock)
}

// An agent's last output is read in order, even if it is read slowly and in small pieces.
func TestAgentsLastWordsAreInOrder(t *testing.T) {
	var want strings.Builder
	for i := range 10_000 {
		fmt.Fprintln(&want, i+1)
	}
	for range 30 {
		a := startAgent(t, exec.Command("seq", "10000"), nil)
		var said []byte
		for {
			piece := make([]byte, 16)
			n, err := a.Read(piece)
			said = append(said, piece[:n]...)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			runtime.Gosched()
		}
		require.True(t, want.String() == string(said), "%d bytes of %d, or in another order", len(said), want.Len())
		require.NoError(t, a.Close())
	}
}
