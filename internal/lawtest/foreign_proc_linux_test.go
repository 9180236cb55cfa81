package lawtest

// Trees where /proc is not that of this process's PID namespace, as after unshare -pf or bwrap --unshare-pid without
// --proc, or is missing: each process that an end leaves running is reported, and what needs no /proc still works.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// foreignTrees are shell lines that print the number of a process, and how to end them.
var foreignTrees = map[string]string{
	"leader":  `echo $$; exec sleep 300`,
	"group":   `sleep 300 & echo $!; wait`,
	"job":     `exec bash -c 'set -m; sleep 300 & echo $!; wait'`,
	"stopped": `exec bash -c 'set -m; sleep 300 & echo $!; kill -STOP $!; exec sleep 300'`,
	"session": `setsid sh -c 'echo $$; exec sleep 300' & wait`,
	"daemon":  `(setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1' &); exec sleep 300`,
}

var foreignEnds = map[string]func(*acpterm.Manager, *acpterm.Terminal) error{
	"kill": func(_ *acpterm.Manager, t *acpterm.Terminal) error { return t.Kill(context.Background()) },
	"release": func(m *acpterm.Manager, t *acpterm.Terminal) error {
		return m.Release(context.Background(), "s", t.ID())
	},
	"close": func(m *acpterm.Manager, _ *acpterm.Terminal) error { return m.Close() },
}

// foreignEnd is what a host reports about one end of a tree.
type foreignEnd struct {
	Error     string
	Survivors bool // the error is an ErrSurvivors
	PIDs      []int
	Runs      bool // the process with the printed number
}

// foreignHost is the child that hosts commands as the first process of a PID namespace, with the /proc of another one,
// or with an empty /proc: "empty".
func foreignHost(args []string) {
	if args[0] == "empty" {
		err := errors.Join(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
			syscall.Mount("tmpfs", "/proc", "tmpfs", 0, ""))
		if err != nil {
			panic(err)
		}
	}
	ends := make(map[string]foreignEnd)
	for name, line := range foreignTrees {
		for how, end := range foreignEnds {
			ends[name+", "+how] = endForeign(line, end)
		}
	}
	if args[0] == "foreign" {
		ends["threads"] = endThreads()
	}
	json.NewEncoder(os.Stdout).Encode(ends)
}

func endForeign(line string, end func(*acpterm.Manager, *acpterm.Terminal) error) (result foreignEnd) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
		Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Minute}}},
	}))
	defer m.Close()
	ctx := context.Background()
	nice := &acpterm.CommandOptions{Limits: &acpterm.Limits{Nice: 1}} // its limits are set through /proc
	term := hosttest.Must(m.Create(ctx, hosttest.CommandRequest("/bin/sh", "-c", line), nice))
	text := ""
	for chunk := range term.Follow(ctx, 0) {
		if text += chunk.Text; len(text) > 0 && text[len(text)-1] == '\n' {
			break
		}
	}
	var pid int
	if _, err := fmt.Sscan(text, &pid); err != nil {
		panic(err)
	}
	process := hosttest.Must(unix.PidfdOpen(pid, 0))
	defer unix.Close(process)
	err := end(m, term)
	if err != nil {
		result.Error, result.Survivors = err.Error(), errors.Is(err, acpterm.ErrSurvivors)
	}
	if failure, ok := errors.AsType[*acpterm.Error](err); ok {
		result.PIDs = failure.PIDs
	}
	n, _ := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, 0) // readable after the exit
	result.Runs = n == 0
	unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0)
	return result
}

// endThreads kills a process with several threads, all of which are held while they exit. The error's text must name
// the process, and PIDs must not name threads.
func endThreads() (result foreignEnd) {
	runtime.LockOSThread() // the tracer is a thread
	m := hosttest.Must(acpterm.NewManager(quickKill))
	ctx := context.Background()
	line := append([]string{"-c", `echo $$; exec "$0" "$@"`}, hosttest.ChildArgs("sleep")...)
	term := hosttest.Must(m.Create(ctx, hosttest.CommandRequest("/bin/sh", line...), nil))
	text := ""
	for chunk := range term.Follow(ctx, 0) {
		if text += chunk.Text; strings.Count(text, "\n") > 1 || strings.Contains(text, "\nready") {
			break
		}
	}
	pid, threads := 0, 0
	fmt.Sscan(text, &pid)
	for thread := pid; thread < pid+100; thread++ {
		if session, err := unix.Getsid(thread); err != nil || session != pid {
			continue
		}
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(thread), 0, unix.PTRACE_O_TRACEEXIT, 0, 0)
		if threads++; errno != 0 {
			panic(errno)
		}
	}
	if threads < 2 {
		panic("the process has one thread")
	}
	err := term.Kill(ctx)
	if failure, ok := errors.AsType[*acpterm.Error](err); ok {
		result.Survivors, result.PIDs = errors.Is(err, acpterm.ErrSurvivors), failure.PIDs
		result.Error = strings.ReplaceAll(err.Error(), fmt.Sprint(pid), "PID")
	}
	return result
}

func TestAForeignProc(t *testing.T) {
	t.Parallel()
	for _, proc := range []string{"foreign", "empty"} {
		t.Run(proc, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // the namespace ends with its first process
			defer cancel()
			host := exec.CommandContext(ctx, hosttest.Executable(), hosttest.ChildMark, "foreign-host", proc)
			host.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
			host.Stderr = os.Stderr
			said, err := host.Output()
			if errors.Is(err, os.ErrPermission) {
				t.Skip("no PID namespace can be made here: ", err)
			}
			require.NoError(t, err, "%s", said)
			var ends map[string]foreignEnd
			require.NoError(t, json.Unmarshal(said, &ends), "%s", said)
			if threads, ok := ends["threads"]; ok && !linuxtest.Before(6, 1) { // see TestExitingProcessesAreNoSurvivors
				require.True(t, threads.Survivors)
				require.Empty(t, threads.PIDs)
				require.Contains(t, threads.Error, "processes [PID] have been killed, and are exiting")
			}
			delete(ends, "threads")
			require.Len(t, ends, len(foreignTrees)*len(foreignEnds))
			for tree := range foreignTrees {
				for how := range foreignEnds {
					name := tree + ", " + how
					requireForeign(t, name, ends[name], proc == "foreign" && tree != "session" && tree != "daemon")
				}
			}
		})
	}
}

// requireForeign checks an end of a tree. The end of a tree that stays in its session is certain if the system tells
// which numbers it has assigned.
func requireForeign(t *testing.T, name string, end foreignEnd, certain bool) {
	if certain {
		require.Equal(t, foreignEnd{}, end, name)
		return
	}
	require.True(t, end.Survivors, "%s: %+v", name, end)
	require.Contains(t, end.Error, "/proc", name)
	require.Empty(t, end.PIDs, name) // no process is known to be a member
}

// A process may have the same number in its PID namespace and in that of its /proc.
func TestAForeignProcWithTheSameNumber(t *testing.T) {
	t.Parallel()
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	for range 100 {
		host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "foreign-parent")
		host.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		host.Stderr = os.Stderr
		stdin := hosttest.Must(host.StdinPipe())
		stdout := hosttest.Must(host.StdoutPipe())
		require.NoError(t, host.Start())
		answers := bufio.NewReader(stdout)
		_, err := answers.ReadString('\n') // its threads have numbers now
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(lastPID, []byte("20000"), 0))
		fmt.Fprintln(stdin)
		line, err := answers.ReadString('\n')
		require.NoError(t, err)
		stdin.Close()
		require.NoError(t, host.Wait())
		if line != "another\n" {
			require.Contains(t, line, "/proc does not show the processes of this PID namespace")
			return
		}
	}
	t.Fatal("no process got the same number")
}

// foreignParent is the first process of a PID namespace with the /proc of another one. It starts a host with a number
// that the outer namespace may assign to it, too.
func foreignParent([]string) {
	fmt.Println("ready")
	fmt.Scanln()
	if err := os.WriteFile(lastPID, []byte("20000"), 0); err != nil {
		panic(err)
	}
	host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "foreign-twin")
	host.Stdout, host.Stderr = os.Stdout, os.Stderr
	if err := host.Run(); err != nil {
		panic(err)
	}
}

// foreignTwin prints "another" if its number differs in its /proc. Otherwise it kills a tree, and prints the error.
func foreignTwin([]string) {
	if self, _ := os.Readlink("/proc/self"); self != fmt.Sprint(os.Getpid()) {
		fmt.Println("another")
		return
	}
	fmt.Println(endForeign(foreignTrees["daemon"], foreignEnds["kill"]).Error)
}
