package bubblewrap_test

// Tests that commands in a sandbox start and end like others, together with all their remaining processes.

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/procfs"
)

// start starts a command and returns when it has written "ready".
func start(
	t testing.TB, m *acpterm.Manager, r acpterm.CreateTerminalRequest, options *acpterm.CommandOptions,
) *acpterm.Terminal {
	t.Helper()
	term, err := m.Create(t.Context(), r, options)
	require.NoError(t, err)
	text := ""
	for chunk := range term.Follow(t.Context(), 0) {
		if text += chunk.Text; strings.Contains(text, "ready") {
			return term
		}
	}
	require.FailNow(t, "the command has ended", "%s", text)
	return nil
}

// marked returns the running processes with a terminal's mark in their environment: bwrap's and the command's.
func marked(id acpterm.TerminalID) (pids []string) {
	for _, stat := range leaktest.Running(string(id)) {
		pid, _, _ := strings.Cut(stat, " ")
		pids = append(pids, pid)
	}
	return pids
}

// sandboxOf returns a function that returns the processes in a command's sandbox, even if they try to hide. The
// function holds the PID namespace open, so that its number is not reused.
func sandboxOf(t testing.TB, term *acpterm.Terminal) (running func() []int) {
	t.Helper()
	own, err := os.Stat("/proc/self/ns/pid")
	require.NoError(t, err)
	namespace := own
	for _, pid := range marked(term.ID()) { // bwrap's first process is outside
		file, err := os.Open("/proc/" + pid + "/ns/pid")
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended
		}
		require.NoError(t, err)
		t.Cleanup(func() { file.Close() })
		if os.SameFile(namespace, own) {
			namespace, err = file.Stat()
			require.NoError(t, err)
		}
	}
	require.False(t, os.SameFile(namespace, own), "none of the command's processes runs in a sandbox")
	return func() (found []int) {
		pids, err := new(procfs.Table).PIDs()
		require.NoError(t, err)
		for _, pid := range pids {
			info, err := os.Stat(fmt.Sprintf("/proc/%d/ns/pid", pid))
			p, gone := new(procfs.Table).Read(pid)
			if err == nil && os.SameFile(info, namespace) && gone == nil && !p.Exited {
				found = append(found, pid)
			}
		}
		return found
	}
}

func TestSandboxExits(t *testing.T) {
	m := newManager(t, bubblewrap.Options{}, t.TempDir())
	for line, code := range map[string]uint32{"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -9 $$": 137} {
		require.Equal(t, code, *run(t, m, shell(line)).ExitStatus.ExitCode, line)
	}
	require.Regexp(t, `^/dev/null\n(pipe:\[\d+\]\n){2}$`, run(t, m, shell("readlink /proc/$$/fd/*")).Output)

	many := strings.Split(strings.Repeat("x", 8000), "")
	require.Equal(t, "8000\n", run(t, m, shell("echo $#", many...)).Output)
	require.ErrorIs(t, refusal(t, m, shell("echo $#", append(many, many...)...)), acpterm.ErrInvalidParams)
}

// Programs with several uses see the last element of their name.
func TestSandboxKeepsNames(t *testing.T) {
	root := t.TempDir()
	m := newManager(t, bubblewrap.Options{}, root)
	for name, want := range map[string]string{"called": "called", "a=b": "a[=_]b"} {
		link := filepath.Join(root, name)
		require.NoError(t, os.Symlink("/bin/sh", link))
		require.Regexp(t, "(^|/)"+want+"\n$", run(t, m, request(link, "-c", `echo "$0"`)).Output)
	}
}

// vanished is a shell line that starts a process without environment, output, parent or session of the command.
const vanished = `setsid env -i sh -c 'setsid sleep 300 </dev/null >/dev/null 2>&1 & echo ready'; `

func TestSandboxKills(t *testing.T) {
	m := newManager(t, bubblewrap.Options{}, t.TempDir())
	for _, test := range []struct {
		line, output, status string
		grace                time.Duration
	}{
		{`trap "echo bye; exit 7" TERM; echo ready; sleep 300 & wait`, "ready\nbye\n", "exit code 7", time.Minute},
		{`echo ready; exec sleep 300`, "ready\n", "exit code 143", time.Minute}, // SIGTERM has its usual effect
		{vanished + `exec sleep 300`, "ready\n", "exit code 143", time.Minute},
		{`setsid sh -c 'trap "" TERM; echo ready; sleep 300' & trap "setsid sleep 300 & exit 3" TERM; wait`,
			"ready\n", "exit code 3", time.Minute},
		{`trap "" TERM; echo ready; while :; do sleep 300 & sleep 0.01; done`,
			"ready\n", "signal SIGKILL", 30 * time.Millisecond},
	} {
		t.Run(test.line, func(t *testing.T) {
			term := start(t, m, shell(test.line),
				&acpterm.CommandOptions{
					Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: test.grace}},
				})
			running := sandboxOf(t, term)
			require.GreaterOrEqual(t, len(running()), 2, "one of bwrap's and the command")
			require.NoError(t, term.Kill(t.Context()))
			require.Empty(t, running())
			require.Empty(t, marked(term.ID()))
			require.Equal(t, test.output, term.Output().Output)
			require.Equal(t, test.status, term.ExitStatus().String())
		})
	}
}

// Remaining processes end with the command, even if they have left its session, environment, output and parent.
func TestSandboxEndsWhatTheCommandLeft(t *testing.T) {
	root := t.TempDir()
	m := newManager(t, bubblewrap.Options{}, root)
	fifo := filepath.Join(root, "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	r := shell(vanished + `read line <fifo`)
	r.Cwd = root
	term := start(t, m, r, nil)
	running := sandboxOf(t, term)
	require.GreaterOrEqual(t, len(running()), 3, "bwrap's, the command, and what it leaves")
	require.NoError(t, os.WriteFile(fifo, []byte("end\n"), 0))
	_, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(running()) == 0 }, time.Minute, time.Millisecond)
}

// A process outside the sandbox is not part of the command's tree, even if it holds the command's output.
func TestSandboxEndsNothingOutside(t *testing.T) {
	for name, end := range map[string]func(m *acpterm.Manager, term *acpterm.Terminal) error{
		"kill": func(_ *acpterm.Manager, term *acpterm.Terminal) error { return term.Kill(t.Context()) },
		"release": func(m *acpterm.Manager, term *acpterm.Terminal) error {
			return m.Release(t.Context(), "s", term.ID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, bubblewrap.Options{}, t.TempDir())
			term := start(t, m, shell("echo ready; exec sleep 300"), nil)

			// The process and its session are younger than the command, and it is not a child of the manager's process:
			// otherwise it would not be examined at all.
			holder := fmt.Sprintf("sh -c 'exec 3>/proc/%s/fd/1; echo holds; cat'; exit", marked(term.ID())[0])
			other := exec.Command("sh", "-c", holder)
			other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			input, output := leaktest.StartPiped(t, other)
			lines := bufio.NewReader(output)
			answer := func() string {
				line, err := lines.ReadString('\n')
				require.NoError(t, err, "the process outside has ended")
				return line
			}
			require.Equal(t, "holds\n", answer())
			require.NoError(t, end(m, term))
			require.Empty(t, marked(term.ID()))
			_, err := fmt.Fprintln(input, "running")
			require.NoError(t, err)
			require.Equal(t, "running\n", answer())
		})
	}
}

// Users other than root get the same sandbox: the other tests pass for one.
func TestSandboxWithoutRoot(t *testing.T) {
	needsBubblewrap(t)
	if os.Getuid() != 0 {
		t.Skip("all of these tests are without root")
	}
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	trial := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true")
	trial.SysProcAttr = nobody
	if output, err := trial.CombinedOutput(); err != nil && os.Getenv(isRequired) == "" {
		t.Skipf("other users than root cannot make sandboxes here: %s", output)
	}
	dir := outsideTmp(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	home, program := filepath.Join(dir, "home"), filepath.Join(dir, "program")
	require.NoError(t, os.Mkdir(home, 0o700))
	require.NoError(t, os.Chown(home, 65534, 65534))
	binary, err := os.ReadFile(executable())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, binary, 0o755))
	tests := exec.Command(program, "-test.v")
	tests.Dir, tests.SysProcAttr = home, nobody
	tests.Env = append(os.Environ(), "TMPDIR=/tmp", "HOME="+home)
	output, err := tests.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), "--- PASS: TestSandboxConfinesWriting")
}

// A sandboxed command can have a PTY as its terminal, with its size, and an interrupt reaches the command.
func TestSandboxOnAPTY(t *testing.T) {
	m := newManager(t, bubblewrap.Options{}, t.TempDir())
	onPTY := &acpterm.CommandOptions{PTY: &acpterm.PTYOptions{Columns: 90}}
	term := start(t, m, shell("test -t 0 && stty size; echo ready; exec cat"), onPTY)
	_, err := term.Write([]byte("\x03"))
	require.NoError(t, err)
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "exit code 130", status.String()) // bwrap's, for SIGINT
	require.Equal(t, "24 90\nready\n^C", term.Output().Output)
	require.NoError(t, term.Kill(t.Context()))
}
