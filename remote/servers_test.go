//go:build linux

package remote_test

// Exact output and lost connections, with sshd and in a container. manager_linux_test.go loses connections by pipes.

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/remote"
)

// servers returns the remote sides behind a server.
func servers() map[string]func(*testing.T) *far {
	return map[string]func(*testing.T) *far{"ssh": bySSH, "another user": bySSHAsAnother, "container": inContainer}
}

// slowTransport is a Transport that reads its connections slowly.
type slowTransport struct{ remote.Transport }

func (s slowTransport) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	shell, err := s.Transport.Open(ctx)
	return &slowShell{ReadWriteCloser: shell}, err
}

type slowShell struct {
	io.ReadWriteCloser
	reads int
}

func (s *slowShell) Read(p []byte) (int, error) {
	if s.reads++; s.reads%64 == 0 {
		time.Sleep(time.Millisecond) // lets the buffers in between fill up
	}
	return s.ReadWriteCloser.Read(p[:min(len(p), 32<<10)])
}

// All 8 MiB of output arrive before the exit, however slowly the connection is read.
func TestServersLoseNoOutput(t *testing.T) {
	t.Parallel()
	places := servers()
	places["pipes"] = byPipes
	for name, start := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			m := f.manager(t, slowTransport{remote.Command{Args: f.line}})
			want := strings.Repeat("0123456789abcde\n", 8<<16)
			file := filepath.Join(f.place.TempDir(t), "text")
			require.NoError(t, os.WriteFile(filepath.Join("/", f.place.Root, file), []byte(want), 0o644))
			var running sync.WaitGroup
			const lanes = 3
			for range lanes {
				running.Go(func() {
					for range longtest.Times(1, 33) {
						term := f.create(t, m, "cat "+file+"; exit 3")
						status, err := term.Wait(t.Context())
						if output := term.Output().Output; err != nil || output != want || *status.ExitCode != 3 {
							t.Errorf("%d bytes of %d, %v, %v", len(output), len(want), status, err)
						}
						m.Release(t.Context(), "s", term.ID())
					}
				})
			}
			running.Wait()
		})
	}
}

// When the transport's process is killed, each running command reports the lost connection, nothing is left on the
// remote side, and the next connection works.
func TestServersAreLost(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			number := filepath.Join(t.TempDir(), "number")
			line := append([]string{"sh", "-c", `echo $$ >"$0"; exec "$@"`, number}, f.line...)
			m := f.manager(t, remote.Command{Args: line})
			for range longtest.Times(1, 35) {
				lost := []*acpterm.Terminal{
					f.create(t, m, "echo ready; exec sleep 600"), f.create(t, m, "setsid sleep 600 & echo ready; wait"),
				}
				for _, term := range lost {
					for chunk := range term.Follow(t.Context(), 0) {
						require.Equal(t, "ready\n", chunk.Text)
						break
					}
				}
				text, err := os.ReadFile(number)
				require.NoError(t, err)
				pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				for _, term := range lost {
					_, err := term.Wait(t.Context())
					require.ErrorIs(t, err, acpterm.ErrConnectionLost)
					require.Equal(t, "ready\n", term.Output().Output)
					require.ErrorIs(t, m.Release(t.Context(), "s", term.ID()), acpterm.ErrConnectionLost)
				}
				require.Eventually(t, func() bool { return len(f.left("ACPTERM_TERMINAL=")) == 0 }, time.Minute,
					time.Millisecond, "processes of commands are left")
			}
			status, err := f.create(t, m, "exit 7").Wait(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 7, *status.ExitCode)
		})
	}
}

// A kill during a pause of the container ends the command, if only afterwards. When the container ends, commands report
// the lost connection, and creates fail.
func TestContainerPausesAndEnds(t *testing.T) {
	t.Parallel()
	f := inContainer(t)
	m := f.manager(t, remote.Command{Args: f.line})
	steps := []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}} // however long the pause takes
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Commands: acpterm.CommandOptions{Escalation: steps}}))
	term := f.create(t, m, "exec sleep 600")
	killed := make(chan error, 1)
	f.container.Pause(t, func() { go func() { killed <- term.Kill(t.Context()) }() })
	require.NoError(t, <-killed)
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "SIGTERM", *status.Signal)

	term = f.create(t, m, "setsid sleep 600 & wait")
	f.container.Stop()
	_, err = term.Wait(t.Context())
	require.ErrorIs(t, err, acpterm.ErrConnectionLost)
	require.ErrorIs(t, m.Release(t.Context(), "s", term.ID()), acpterm.ErrConnectionLost)
	require.Empty(t, f.left(""), "processes are left")
	_, err = m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh"}, nil)
	require.ErrorIs(t, err, acpterm.ErrConnectionLost)
}

// A PTY on either side of the connection is detected before it can change any data.
func TestPTYInBetween(t *testing.T) {
	t.Parallel()
	f := bySSH(t)
	require.Equal(t, "ssh", f.line[0])
	overSSH := func(f *far) []string { return append([]string{"ssh", "-tt"}, f.line[1:]...) }
	quoted := func(f *far) string { return "'" + strings.Join(f.line, "' '") + "'" }
	lines := map[string]func(*far) []string{
		"ssh -tt": overSSH,
		"ssh -tt, without an echo": func(f *far) []string {
			line := overSSH(f)
			return append(line[:len(line)-1], "sh", "-c", `"stty -echo; exec sh"`)
		},
		"ssh -tt, to a login shell": func(f *far) []string {
			line := overSSH(f)
			return line[:len(line)-3]
		},
	}
	if _, err := exec.LookPath("script"); err == nil {
		lines["ssh in a PTY"] = func(f *far) []string { return []string{"script", "-qec", quoted(f), "/dev/null"} }
		lines["ssh in a PTY without an echo"] = func(f *far) []string {
			return []string{"script", "-qec", "stty -echo; " + quoted(f), "/dev/null"}
		}
	}
	dir := f.place.TempDir(t)
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := f.again(strings.ReplaceAll(name, " ", "_"))
			runner := f.runner(t, remote.Command{Args: line(f)}, dir)
			err := runner.Connect(t.Context())
			if err == nil {
				_, err = runner.RealDir(t.Context(), "/")
			}
			require.ErrorIs(t, err, acpterm.ErrConnectionLost)
			require.ErrorContains(t, err, "terminal (PTY)")
		})
	}
}

// Variables of this process do not reach the remote side with the usual settings of ssh and sshd.
func TestServersGetNoVariables(t *testing.T) {
	s := sshdtest.Start(t, "AcceptEnv LANG LANGUAGE LC_* XMODIFIERS COLORTERM NO_COLOR OTHER")
	config := filepath.Join(s.Dir, "ssh_config")
	require.NoError(t, os.WriteFile(config, []byte("SendEnv LANG LC_*\nSendEnv LANGUAGE XMODIFIERS\n"+
		"SendEnv COLORTERM NO_COLOR OTHER\n"), 0o600))
	line := s.CommandLine(s.User)
	require.Equal(t, []string{"-F", "none"}, line[1:3])
	line[2] = config
	for _, name := range []string{"LANG", "LANGUAGE", "LC_ALL", "LC_X", "XMODIFIERS", "COLORTERM", "NO_COLOR", "OTHER"} {
		t.Setenv(name, "of this process")
	}
	shell, err := remote.Command{Args: append(line, "env")}.Open(t.Context())
	require.NoError(t, err)
	text, err := io.ReadAll(shell)
	require.NoError(t, shell.Close())
	require.ErrorIs(t, err, io.EOF)
	var arrived []string
	for variable := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(variable), "="); value == "of this process" {
			arrived = append(arrived, name)
		}
	}
	require.Equal(t, []string{"OTHER"}, arrived, "only what the user has ssh send on purpose")
}

// manager returns a Manager with commands on this remote side.
func (f *far) manager(t *testing.T, transport remote.Transport) *acpterm.Manager {
	m, err := acpterm.NewManager(&acpterm.Options{
		Runner: f.runner(t, transport, f.place.TempDir(t)), Commands: acpterm.CommandOptions{OutputByteLimit: 9 << 20},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// create runs a shell line.
func (f *far) create(t *testing.T, m *acpterm.Manager, line string) *acpterm.Terminal {
	term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "sh", Args: []string{"-c", line},
	}, nil)
	require.NoError(t, err)
	return term
}
