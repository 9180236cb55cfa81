//go:build linux

package remote_test

// The library's own tests of commands, through the helper: by plain pipes, by sshd and in a container.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/runctest"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/acpterm/acpterm/remote"
)

// far is a far end.
type far struct {
	place terminaltest.Place
	proc  string // its process table, as a directory here
	line  []string
	mark  string // is in the environment of the helper and of its commands, in its base
}

// newFar has what is alike of all far ends: line runs a shell there, root is the root of its files here, and uid its
// user.
func newFar(t *testing.T, line []string, root string, uid int) *far {
	f := &far{proc: "/proc", mark: fmt.Sprintf("%s=%d-%s", leaktest.Variable, os.Getpid(), t.Name())}
	f.line = append(line, "env", f.mark, "sh")
	f.place = terminaltest.Place{
		Root: root,
		UID:  uid,
		TempDir: func(t testing.TB) string {
			dir, err := os.MkdirTemp(filepath.Join("/", root, "tmp"), "acpterm-suite-")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
			require.NoError(t, os.Chmod(dir, 0o755))
			require.NoError(t, os.Chown(dir, uid, uid))
			return "/" + strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
		},
		Process: f.process,
		Nasty: []string{
			"ignores-sigterm", "grandchild-ignores-sigterm", "setsid", "setsid-silent-naked", "daemon",
			"naked-daemon-with-output", "holds-the-output", "forks", "stops-itself", "polite",
		},
	}
	return f
}

// run runs the tests there, by one Runner. Nothing is left after each, and not even the helper after them.
func (f *far) run(t *testing.T) {
	f.place.Program = filepath.Join(f.place.TempDir(t), "testchild")
	child, err := os.ReadFile(filepath.Join(remote.BuiltForTests(t), "testchild"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("/", f.place.Root, f.place.Program), child, 0o755))
	env := os.Environ()
	t.Setenv(terminaltest.SecretVariable, "secret")
	runner := f.runner(t, remote.Command{Args: f.line, Env: env})
	f.place.NewManager = func(t testing.TB, options *acpterm.Options) *acpterm.Manager {
		if options == nil {
			options = new(acpterm.Options)
		}
		options.Runner = runner
		m, err := acpterm.NewManager(options)
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, m.Close())
			require.Empty(t, f.left("ACPTERM_TERMINAL="), "processes of commands are left")
		})
		return m
	}
	terminaltest.Run(t, f.place)
}

// runner returns a Runner that is closed when the test ends; the test fails if a process of it is left then.
func (f *far) runner(t *testing.T, transport remote.Transport) *remote.Runner {
	runner, err := remote.NewRunner(remote.Options{
		Transport: transport, Helpers: os.DirFS(remote.BuiltForTests(t)), Dir: f.place.TempDir(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, runner.Close())
		require.Eventually(t, func() bool { return len(f.left("")) == 0 }, 10*time.Second, time.Millisecond,
			"processes are left")
	})
	return runner
}

// left are the processes that have the mark in their environment, and the other text, too.
func (f *far) left(other string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // has those of containers, too
	for _, file := range files {
		environ, _ := os.ReadFile(file)
		if bytes.Contains(environ, []byte(f.mark+"\x00")) && bytes.Contains(environ, []byte(other)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			found = append(found, file+" "+string(line))
		}
	}
	return found
}

// process returns what the far end's process table has of a process.
func (f *far) process(pid int) (state, started string) {
	stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", f.proc, pid))
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0], fields[19]
}

func TestSuiteByPipes(t *testing.T)            { byPipes(t).run(t) }
func TestSuiteBySSHAsAnotherUser(t *testing.T) { bySSHAsAnother(t).run(t) }
func TestSuiteInAContainer(t *testing.T)       { inContainer(t).run(t) }

func TestSuiteBySSHAsRoot(t *testing.T) {
	f := bySSH(t)
	f.place.Resembles = os.Getuid() == 0 // root is the user by pipes, and ssh is the way to the other user
	f.run(t)
}

func byPipes(t *testing.T) *far { return newFar(t, nil, "", os.Getuid()) }

func bySSH(t *testing.T) *far {
	s := sshdtest.Start(t)
	return newFar(t, s.CommandLine(s.User), "", os.Getuid())
}

func bySSHAsAnother(t *testing.T) *far {
	s := sshdtest.Start(t)
	if s.OtherUser == "" {
		t.Skip("takes root")
	}
	home, err := os.Stat(filepath.Join(s.Dir, "home"))
	require.NoError(t, err)
	return newFar(t, s.CommandLine(s.OtherUser), "", uidOf(home))
}

func inContainer(t *testing.T) *far {
	c := runctest.Start(t)
	f := newFar(t, c.CommandLine()[:5], c.Root, 0)
	line := append(c.CommandLine()[:3:3], "state", c.ID)
	out, err := exec.Command(line[0], line[1:]...).Output()
	require.NoError(t, err)
	var state struct{ Pid int }
	require.NoError(t, json.Unmarshal(out, &state))
	f.proc = fmt.Sprintf("/proc/%d/root/proc", state.Pid)
	return f
}

// uidOf is the user that a file belongs to.
func uidOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
