//go:build linux

package remote_test

// The library's own tests of commands, run through the helper: with plain pipes, with sshd and in a container.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/runctest"
	"github.com/acpterm/acpterm/internal/sshdtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/acpterm/acpterm/remote"
)

// far is a remote side.
type far struct {
	place terminaltest.Place
	proc  string // the path of its process table on this system
	line  []string
	mark  string // in the environment of the helper and its commands, as part of its Base

	container *runctest.Container // or nil
}

// newFar returns a remote side. line runs a shell there, root is the path of its root directory on this system, and uid
// is its user.
func newFar(t *testing.T, line []string, root string, uid int) *far {
	f := &far{proc: "/proc", mark: fmt.Sprintf("%s=%d-%s", leaktest.Variable, os.Getpid(), t.Name())}
	f.line = append(slices.Clone(line), "env", f.mark, "sh")
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

// atOnce is the number of Runners with tests at the same time.
const atOnce = 3

// run runs the tests there, spread over several Runners. No processes may be left after each test, and no helpers after
// the last one.
func (f *far) run(t *testing.T) {
	f.place.Program = filepath.Join(f.place.TempDir(t), "testchild")
	child, err := os.ReadFile(filepath.Join(remote.BuiltForTests(t), "testchild"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("/", f.place.Root, f.place.Program), child, 0o755))
	var places []terminaltest.Place
	dir := f.place.TempDir(t)
	for i := range atOnce {
		one := f.again(fmt.Sprint(i))
		runner := one.runner(t, remote.Command{Args: one.line, Env: environ}, dir)
		require.NoError(t, runner.Connect(t.Context())) // before the next Runner, so that the helper is copied once
		one.place.NewManager = func(t testing.TB, options *acpterm.Options) *acpterm.Manager {
			if options == nil {
				options = new(acpterm.Options)
			}
			options.Runner = runner
			m, err := acpterm.NewManager(options)
			require.NoError(t, err)
			t.Cleanup(func() {
				require.NoError(t, m.Close())
				require.Empty(t, one.left("ACPTERM_TERMINAL="), "processes of commands are left")
			})
			return m
		}
		places = append(places, one.place)
	}
	if !f.place.Resembles || longtest.Is() {
		t.Run("Runner", func(t *testing.T) { f.testRunner(t, dir) })
	}
	t.Run("PTY", func(t *testing.T) { testPTY(t, places[0]) })
	t.Run("Stdin", func(t *testing.T) { testStdin(t, places[0]) })
	terminaltest.Run(t, places...)
}

// testPTY runs a command on a PTY, types, changes its size and kills it.
func testPTY(t *testing.T, p terminaltest.Place) {
	m := p.NewManager(t, nil)
	request := acpterm.CreateTerminalRequest{
		SessionID: "s", Command: "sh", Args: []string{"-c", "read line; echo $line; stty size; exec sleep 1000"},
	}
	terminal, err := m.Create(t.Context(), request, &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 99}})
	require.NoError(t, err)
	require.NoError(t, terminal.Resize(77, 33))
	_, err = terminal.Write([]byte("text\n"))
	require.NoError(t, err)
	var raw strings.Builder
	for chunk := range terminal.Follow(t.Context(), 0) {
		if raw.WriteString(chunk.Raw); strings.HasSuffix(raw.String(), "33 77\r\n") {
			break
		}
	}
	require.Equal(t, "text\ntext\n33 77\n", terminal.Output().Output)
	require.NoError(t, terminal.Kill(t.Context()))
	require.Equal(t, "SIGHUP", *terminal.ExitStatus().Signal)
}

// testStdin talks to a shell through a pipe, and looks at its processes.
func testStdin(t *testing.T, p terminaltest.Place) {
	m := p.NewManager(t, nil)
	request := acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh"}
	terminal, err := m.Create(t.Context(), request, &acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{}})
	require.NoError(t, err)
	_, err = terminal.Write([]byte("x=Grüße; sleep 1000 & echo $x $!\n"))
	require.NoError(t, err)
	for a, err := range terminal.Watch(t.Context()) {
		require.NoError(t, err)
		if a.State == "input" && terminal.OutputTotal() > 0 {
			break
		}
	}
	var list []acpterm.ProcessInfo
	require.Eventually(t, func() bool { // the child may not have executed sleep yet
		list, err = terminal.Processes(t.Context())
		return err != nil || len(list) == 2 && list[1].Command == "sleep 1000"
	}, time.Minute, time.Millisecond)
	require.NoError(t, err)
	shell, child := list[0], list[1]
	require.Equal(t, fmt.Sprintf("Grüße %d\n", child.PID), terminal.Output().Output)
	require.Equal(t, terminal.Info().PID, shell.PID)
	require.Equal(t, shell.PID, child.Parent)
	_, err = terminal.Write([]byte("exit 5"))
	require.NoError(t, err)
	require.NoError(t, terminal.CloseStdin())
	status, err := terminal.Wait(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, *status.ExitCode)
	_, err = terminal.Write([]byte("late"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.NoError(t, terminal.CloseStdin())
}

// testRunner tests that the Runner keeps its promises.
func (f *far) testRunner(t *testing.T, dir string) {
	t.Parallel()
	one := f.again("runner")
	runner := one.runner(t, remote.Command{Args: one.line, Env: environ}, dir)
	var gaps acptermtest.RunnerGaps
	if f.place.UID == 0 {
		gaps.Limits = []string{"Processes"} // the rlimit does not apply to root
	}
	acptermtest.TestRunner(t, func(testing.TB) acpterm.Runner { return runner }, &gaps)
}

// again returns the same remote side with another mark.
func (f *far) again(name string) *far {
	one := *f
	one.mark = f.mark + "-" + name
	one.line = append(f.line[:len(f.line)-2:len(f.line)-2], one.mark, "sh")
	return &one
}

// environ contains the variables of this process without the secret, which is set afterwards.
var environ = func() []string {
	os.Unsetenv(terminaltest.SecretVariable) // TestMain restarts this program
	environ := os.Environ()
	os.Setenv(terminaltest.SecretVariable, "secret")
	return environ
}()

// runner returns a Runner with its helper in dir, and closes it when the test ends. The test fails if one of its
// processes is left then.
func (f *far) runner(t *testing.T, transport remote.Transport, dir string) *remote.Runner {
	runner, err := remote.NewRunner(remote.Options{
		Transport: transport, Helpers: os.DirFS(remote.BuiltForTests(t)), Dir: dir,
		ConnectTimeout: 10 * time.Minute, // on an emulated processor, logins at the same time take longer than a minute
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, runner.Close())
		require.Eventually(t, func() bool { return len(f.left("")) == 0 }, time.Minute, time.Millisecond,
			"processes are left")
	})
	return runner
}

// left returns the processes with the mark and the text other in their environment.
func (f *far) left(other string) (found []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*") // includes processes of containers
	for _, dir := range processes {
		environ, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(environ, []byte(f.mark+"\x00")) && bytes.Contains(environ, []byte(other)) {
			line, _ := os.ReadFile(dir + "/cmdline")
			found = append(found, dir+" "+string(line))
		}
	}
	return found
}

// process returns the state and the start time of a process in the remote process table.
func (f *far) process(pid int) (state, started string) {
	stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", f.proc, pid))
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0], fields[19]
}

func TestSuiteByPipes(t *testing.T)            { suite(t, byPipes) }
func TestSuiteBySSHAsAnotherUser(t *testing.T) { suite(t, bySSHAsAnother) }
func TestSuiteInAContainer(t *testing.T)       { suite(t, inContainer) }

func suite(t *testing.T, start func(*testing.T) *far) {
	t.Parallel()
	start(t).run(t)
}

func TestSuiteBySSHAsRoot(t *testing.T) {
	t.Parallel()
	f := bySSH(t)
	f.place.Resembles = os.Getuid() == 0 // root already runs the tests with pipes, and those with ssh as another user
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
	line := c.CommandLine()
	f := newFar(t, line[:len(line)-1], c.Root, 0)
	f.proc, f.container = fmt.Sprintf("/proc/%d/root/proc", c.PID), c
	return f
}

// uidOf returns the owner of a file.
func uidOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
