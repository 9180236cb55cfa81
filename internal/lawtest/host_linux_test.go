package lawtest

// Laws 3 and 4 in hosts that take away the library's children: they reap every child by wait4(-1), or ignore SIGCHLD.
// Each host is a separate process. The test gives the numbers of its commands to other processes, which no signal may
// reach.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/linuxtest"
)

// hostReport is the final report of a host that takes away children.
type hostReport struct {
	Outputs []string // of commands, without their first line
	Waits   []string // statuses, or kinds of errors
	Ends    []string // errors of kills and releases
	Logged  int      // lines in the log
}

// hostThatReaps is the child that takes away its own children: ignore or reap. "old" simulates a kernel that
// does not report the exit of a reaped process. It prints "take PID" after each command has ended, and continues after
// reading a line.
func hostThatReaps(args []string) {
	how := args[0]
	if args[1] == "old" {
		if err := refuseIoctl(unix.PIDFD_GET_INFO); err != nil {
			panic(err)
		}
	}
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}}))
	switch how {
	case "ignore":
		signal.Ignore(syscall.SIGCHLD)
	case "reap":
		go reapAll()
	}
	var report hostReport
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	lines := []string{"exit 7", "sleep 300 & exit 7", "setsid sleep 300 & exit 7", "sleep 0.02; exit 7"}
	answers := bufio.NewReader(os.Stdin)
	for i := range 8 {
		var options acpterm.CommandOptions
		if i/4%2 == 1 {
			options.Limits = &acpterm.Limits{OpenFiles: 100}
		}
		term, err := m.Create(ctx, shellRequest("echo $$; ulimit -n; "+lines[i%len(lines)]), &options)
		if err != nil {
			panic(err)
		}
		status, err := term.Wait(ctx)
		waited := status.String()
		if failure, ok := errors.AsType[*acpterm.Error](err); ok {
			waited = string(failure.Kind)
		}
		pid, rest, _ := strings.Cut(term.Output().Output, "\n")
		report.Outputs, report.Waits = append(report.Outputs, rest), append(report.Waits, waited)
		fmt.Println("take", pid)
		if _, err := answers.ReadString('\n'); err != nil {
			panic(err)
		}
		var killed error
		if i%2 == 0 {
			killed = term.Kill(ctx)
		}
		if err := errors.Join(killed, m.Release(ctx, "s", term.ID())); err != nil {
			report.Ends = append(report.Ends, err.Error())
		}
	}
	if err := m.Close(); err != nil {
		panic(err)
	}
	report.Logged = strings.Count(log.String(), "\n")
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		panic(err)
	}
}

// hostThatReapsAgents is the child that reaps every child of its process, and starts an agent that exits with 3. "old"
// means the same as for hostThatReaps. It prints the results of Wait and Close.
func hostThatReapsAgents(args []string) {
	if args[0] == "old" {
		if err := refuseIoctl(unix.PIDFD_GET_INFO); err != nil {
			panic(err)
		}
	}
	go reapAll()
	cmd := exec.Command(hosttest.Executable(), hosttest.ChildArgs("echo-with", "sleep-silently")[1:]...)
	a, err := agentproc.Start(context.Background(), cmd, nil)
	if err != nil {
		panic(err)
	}
	closed := a.Close()
	status, err := a.Wait(context.Background())
	fmt.Println(status, errors.Is(err, acpterm.ErrExitLost), closed)
}

// reapAll reaps every child of this process, including those of other parts of the program.
func reapAll() {
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err == syscall.ECHILD {
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// refuseIoctl makes an ioctl fail with ENOTTY from now on, in all threads and children.
func refuseIoctl(request uint32) error {
	const load, equal = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	return filterCalls([]unix.SockFilter{
		{Code: load, K: 0}, // seccomp_data.nr
		{Code: equal, K: unix.SYS_IOCTL, Jf: 3},
		{Code: load, K: 24}, // the lower half of seccomp_data.args[1]
		{Code: equal, K: request, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOTTY)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}

// refuseCall makes a system call fail from now on, in all threads and children.
func refuseCall(number uint32, with syscall.Errno) error {
	return filterCalls([]unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(with)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	})
}

func filterCalls(filter []unix.SockFilter) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// lastPID is where the kernel keeps the last assigned number. Writing it requires CAP_SYS_ADMIN.
const lastPID = "/proc/sys/kernel/ns_last_pid"

// unrelated holds processes with former numbers of commands.
type unrelated struct{ all []*exec.Cmd }

// take starts a process with a number, and reports whether it could.
func (u *unrelated) take(t testing.TB, pid int) bool {
	for range 50 {
		if hosttest.StartTime(pid) != "" || stateOf(pid) != "" { // in use, or a zombie's
			return false
		}
		require.NoError(t, os.WriteFile(lastPID, fmt.Append(nil, pid-1), 0))
		cmd := exec.Command("sleep", "300")
		cmd.Env = []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // its number is that of its group and its session
		require.NoError(t, cmd.Start())
		if cmd.Process.Pid == pid {
			u.all = append(u.all, cmd)
			return true
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	return false
}

// end ends them, and returns how many had already ended.
func (u *unrelated) end() (signalled int) {
	for _, cmd := range u.all {
		if hosttest.StartTime(cmd.Process.Pid) == "" {
			signalled++
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	u.all = nil
	return signalled
}

func TestHostsThatTakeChildrenAway(t *testing.T) {
	t.Parallel()
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	underLoad(t)
	for _, c := range []struct {
		how, kernel string
		waits       []string // allowed results of a Wait
		logged      int
	}{
		{how: "ignore", waits: []string{"exit code 7"}, logged: 1},
		{how: "reap", waits: []string{"exit code 7"}, logged: 1},
		{how: "ignore", kernel: "old", waits: []string{"exit_lost"}, logged: 1},
		{how: "reap", kernel: "old", waits: []string{"exit_lost", "exit code 7"}, logged: 1},
	} {
		t.Run(strings.TrimSpace(c.how+" "+c.kernel), func(t *testing.T) {
			if c.kernel == "" && linuxtest.Before(6, 15) {
				t.Skip("the kernel does not tell how a process ended that was reaped")
			}
			mark := leaktest.NewMark()
			host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "host-that-reaps", c.how, c.kernel)
			host.Env = append(os.Environ(), mark)
			host.Stderr = os.Stderr
			stdin := hosttest.Must(host.StdinPipe())
			stdout := hosttest.Must(host.StdoutPipe())
			require.NoError(t, host.Start())
			ended := sync.OnceValue(host.Wait)
			defer ended()
			defer host.Process.Kill()
			var others unrelated
			defer others.end()
			lines := bufio.NewScanner(stdout)
			report, taken := hostReport{}, 0
			for lines.Scan() {
				pid, asked := strings.CutPrefix(lines.Text(), "take ")
				if !asked {
					require.NoError(t, json.Unmarshal(lines.Bytes(), &report))
					break
				}
				if others.take(t, hosttest.Number(pid)) {
					taken++
				}
				_, err := io.WriteString(stdin, "\n")
				require.NoError(t, err)
			}
			require.NoError(t, errors.Join(lines.Err(), ended()))
			require.Len(t, report.Waits, 8)
			require.Positive(t, taken, "no other process got a command's number")
			require.Zero(t, others.end(), "of %d", taken)
			for i, waited := range report.Waits {
				require.Contains(t, c.waits, waited, "command %d", i)
				if i/4%2 == 1 {
					require.Equal(t, "100\n", report.Outputs[i], "the limit holds")
				}
			}
			require.Empty(t, report.Ends)
			require.Equal(t, c.logged, report.Logged)
			require.Empty(t, leaktest.Processes(mark))
		})
	}
}

// If another part of the host reaps the agent, Close still works, and Wait fails if the kernel does not report the
// exit.
func TestHostThatReapsItsAgents(t *testing.T) {
	for kernel, want := range map[string]string{"": "exit code 3 false <nil>\n", "old": "not known true <nil>\n"} {
		t.Run(kernel, func(t *testing.T) {
			if kernel == "" && linuxtest.Before(6, 15) {
				t.Skip("the kernel does not tell how a process ended that was reaped")
			}
			mark := leaktest.NewMark()
			host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "host-that-reaps-agents", kernel)
			host.Env = append(os.Environ(), mark)
			host.Stderr = os.Stderr
			said, err := host.Output()
			require.NoError(t, err)
			require.Contains(t, []string{want, "exit code 3 false <nil>\n"}, string(said))
			require.Empty(t, leaktest.Processes(mark))
		})
	}
}
