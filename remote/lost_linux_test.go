package remote_test

// Errors that tell users why there is no connection.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/remote"
)

// connectTo connects to a shell. The helper is copied to dir.
func connectTo(t *testing.T, dir string, timeout time.Duration, line ...string) (*remote.Runner, error) {
	r, err := remote.NewRunner(remote.Options{
		Transport: remote.Command{Args: line}, Helpers: os.DirFS(remote.BuiltForTests(t)), Dir: dir,
		ConnectTimeout: timeout,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r, r.Connect(t.Context())
}

// The error of a lost connection says how the transport's program ended, and its last words.
func TestLostConnectionSaysWhy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "number")
	for last, says := range map[string][]string{
		"echo the link is down >&2; exit 7": {"sh has ended with exit code 7, standard error", "the link is down"},
		"exit 0":                            {"sh has ended with exit code 0"},
		"kill -9 $$":                        {"sh was ended by SIGKILL"},
	} {
		r, err := connectTo(t, t.TempDir(), time.Minute, "sh", "-c", `sh -c 'echo $$ >"$0"; exec sh' `+file+"; "+last)
		require.NoError(t, err)
		m, err := acpterm.NewManager(&acpterm.Options{Runner: r})
		require.NoError(t, err)
		t.Cleanup(func() { m.Close() })
		term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{
			SessionID: "s", Command: "sleep", Args: []string{"600"},
		}, nil)
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		helper, err := strconv.Atoi(strings.TrimSpace(string(text)))
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(helper, syscall.SIGTERM)) // it ends its commands
		_, err = term.Wait(t.Context())
		require.ErrorIs(t, err, acpterm.ErrConnectionLost)
		for _, text := range says {
			require.ErrorContains(t, err, text)
		}
		require.NotContains(t, err.Error(), "EOF")
	}
}

// Fish as the login shell runs nothing before the end of its input. The error names it and says what to do, and that
// works.
func TestFishLoginShell(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("fish is not installed")
	}
	overSSH := func(t *testing.T) (line []string, dir string) {
		s := sshdtest.Start(t)
		if s.OtherUser == "" {
			t.Skip("only root makes accounts")
		}
		accounts := filepath.Join(s.Dir, "passwd")
		text, err := os.ReadFile(accounts)
		require.NoError(t, err)
		require.True(t, strings.HasSuffix(string(text), ":/bin/sh\n"))
		text = []byte(strings.TrimSuffix(string(text), "/bin/sh\n") + fish + "\n")
		require.NoError(t, os.WriteFile(accounts, text, 0o644)) // the same file, which sshd sees
		return s.CommandLine(s.OtherUser), filepath.Join(s.Dir, "home", "helpers")
	}
	for name, start := range map[string]func(t *testing.T) (line []string, dir string){
		"pipes": func(t *testing.T) ([]string, string) {
			return []string{"env", "SHELL=" + fish, fish, "-l"}, t.TempDir()
		},
		"ssh": overSSH,
	} {
		t.Run(name, func(t *testing.T) {
			line, dir := start(t)
			for timeout := time.Second; ; timeout *= 2 { // until fish has started in time
				_, err = connectTo(t, dir, timeout, line...)
				require.ErrorIs(t, err, acpterm.ErrConnectionLost)
				require.ErrorContains(t, err, "Options.ConnectTimeout")
				require.NotContains(t, err.Error(), "EOF")
				if !strings.Contains(err.Error(), "answered: env has ended") { // it did before the script was written
					require.ErrorContains(t, err, `add "exec sh" to the command line`)
				}
				if strings.Contains(err.Error(), "the login shell "+fish+" is no POSIX shell") {
					break
				}
				require.Less(t, timeout, time.Minute, err)
			}
			works := append(line, "exec sh")
			if name == "pipes" {
				works = append(line, "-c", "exec sh")
			}
			_, err := connectTo(t, dir, time.Minute, works...)
			require.NoError(t, err)
		})
	}
}
