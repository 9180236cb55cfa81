package lawtest

// Laws 2, 3 and 6 on a pseudo console, and typed input there.

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/wintest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

func init() {
	// console CHILD ARGS...: becomes another child, with its console as its standard files. Wine 8 does not give these
	// to a process on a pseudo console, so it opens them by name.
	hosttest.Children["console"] = func(args []string) {
		os.Stdin = hosttest.Must(os.OpenFile("CONIN$", os.O_RDWR, 0))
		os.Stdout = hosttest.Must(os.OpenFile("CONOUT$", os.O_RDWR, 0))
		os.Stderr = os.Stdout
		hosttest.Children[args[0]](args[1:])
	}
	// ask: asks for two lines, and prints them.
	hosttest.Children["ask"] = func([]string) {
		input := bufio.NewScanner(os.Stdin)
		var lines []any
		for _, question := range []string{"Name:", "Password:"} {
			fmt.Print(question)
			if !input.Scan() {
				fmt.Println("no answer:", input.Err())
			}
			lines = append(lines, input.Text())
		}
		fmt.Printf("<%s> <%s>\n", lines...)
	}
	// keep FLAGS: starts a sleeping child with those creation flags, prints "ready", and sleeps.
	hosttest.Children["keep"] = func(args []string) {
		startWith(args[0])
		hosttest.Children["sleep"](nil)
	}
	// leave FLAGS LINES: starts a sleeping child with those creation flags, prints its pid, writes that many lines and
	// "the last", and exits.
	hosttest.Children["leave"] = func(args []string) {
		fmt.Printf("pid %d.\n", startWith(args[0]))
		os.Stdout.WriteString(strings.Repeat("text text\n", hosttest.Number(args[1])) + "the last\n")
	}
	// pty-host: a host with a terminal on a PTY, which prints "ready" when the command does.
	hosttest.Children["pty-host"] = func([]string) {
		m := hosttest.Must(acpterm.NewManager(nil))
		term := hosttest.Must(m.Create(context.Background(), consoleRequest("sleep"), onPTY()))
		for chunk := range term.Follow(context.Background(), 0) {
			fmt.Print(chunk.Text)
		}
	}
}

// startWith starts a sleeping child with some creation flags.
func startWith(flags string) (pid int) {
	child := exec.Command(hosttest.Executable(), hosttest.ChildMark, "sleep-silently")
	child.SysProcAttr = &syscall.SysProcAttr{CreationFlags: uint32(hosttest.Number(flags))}
	if err := child.Start(); err != nil {
		panic(err)
	}
	return child.Process.Pid
}

// onPTY makes a command run on a PTY.
func onPTY() *acpterm.CommandOptions { return &acpterm.CommandOptions{PTY: new(acpterm.PTYOptions)} }

// consoleRequest returns a request for a child that uses its console.
func consoleRequest(name string, args ...string) acpterm.CreateTerminalRequest {
	return hosttest.ChildRequest("console", append([]string{name}, args...)...)
}

// newPTYManager is like hosttest.NewManager, and also fails the test if one of its consoles is left.
func newPTYManager(
	t *testing.T, options *acpterm.Options, hooks ...func(acpterm.Event),
) *acpterm.Manager {
	t.Helper()
	t.Cleanup(func() {
		for _, host := range consoleHosts(t, int(windows.GetCurrentProcessId())) {
			host.awaitExit()
		}
	})
	return hosttest.NewManager(t, options, hooks...)
}

// consoleHosts returns the running processes that serve the pseudo consoles of a process.
func consoleHosts(t *testing.T, pid int) (hosts []watched) {
	t.Helper()
	for _, entry := range leaktest.Snapshot() {
		name := windows.UTF16ToString(entry.ExeFile[:])
		if entry.ParentProcessID == uint32(pid) && strings.EqualFold(name, "conhost.exe") {
			hosts = append(hosts, watch(t, int(entry.ProcessID)))
		}
	}
	return hosts
}

// pidIn returns the number in "pid N." in a terminal's output.
func pidIn(t *testing.T, term *acpterm.Terminal) int {
	t.Helper()
	_, rest, found := strings.Cut(term.Output().Output, "pid ")
	require.True(t, found, "%q", term.Output().Output)
	digits, _, _ := strings.Cut(rest, ".")
	pid, err := strconv.Atoi(digits)
	require.NoError(t, err)
	return pid
}

// When a wait returns, all output of the command is there, even if another process is still running.
func TestPTYDrainIsExact(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 20
	}
	for _, lines := range []int{0, 100, 3000} {
		t.Run(strconv.Itoa(lines), func(t *testing.T) {
			m := newPTYManager(t, nil)
			for range runs {
				req := consoleRequest("leave", strconv.Itoa(windows.DETACHED_PROCESS), strconv.Itoa(lines))
				term := hosttest.Finish(t, m, req, onPTY())
				require.True(t, term.ExitStatus().Success(), "%+v", term.ExitStatus())
				require.Contains(t, term.Output().Output, "the last")
				require.NoError(t, m.Release(t.Context(), "s", term.ID()))
			}
		})
	}
}

// The end of the command closes its console, which ends the processes attached to it; a kill ends the others. Wine 8
// leaves the former running.
func TestPTYLeftovers(t *testing.T) {
	for name, c := range map[string]struct {
		flags  uint32
		hungUp bool
	}{
		"on the console":             {0, true},
		"on the console, in a group": {windows.CREATE_NEW_PROCESS_GROUP, true},
		"on none":                    {windows.DETACHED_PROCESS, false},
		"on its own":                 {windows.CREATE_NO_WINDOW, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newPTYManager(t, nil)
			term := hosttest.Finish(t, m, consoleRequest("leave", strconv.Itoa(int(c.flags)), "0"), onPTY())
			switch {
			case c.hungUp && wintest.UnderWine():
			case c.hungUp:
				require.Eventually(t, func() bool { return len(descendants()) == 0 }, time.Minute, time.Millisecond)
			default:
				require.True(t, watch(t, pidIn(t, term)).runs())
			}
			require.NoError(t, term.Kill(t.Context()))
			require.Empty(t, descendants())
		})
	}
}

func TestPTYInput(t *testing.T) {
	var mu sync.Mutex
	typed := 0
	m := newPTYManager(t, nil, func(e acpterm.Event) {
		if input, ok := e.(*acpterm.InputEvent); ok {
			mu.Lock()
			defer mu.Unlock()
			typed += input.Bytes
		}
	})
	term := hosttest.Create(t, m, consoleRequest("ask"), onPTY())
	hosttest.AwaitOutput(t, term, "Name:")
	fmt.Fprint(term, "Grüße\r")
	hosttest.AwaitOutput(t, term, "Password:")
	fmt.Fprint(term, "secret\r")
	require.True(t, hosttest.AwaitExit(t, term).Success())
	require.Contains(t, term.Output().Output, "<Grüße> <secret>")
	_, err := term.Write([]byte("late"))
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, term.Resize(100, 30), os.ErrClosed)
	require.NoError(t, m.Close())
	require.Equal(t, len("Grüße\rsecret\r"), typed)
}

// A kill closes the console, which asks the command to end. It then ends by force the processes that do not react or
// have another console. Wine 8 lets a command whose console is closed exit with 0.
func TestPTYKill(t *testing.T) {
	m := newPTYManager(t, nil)
	for _, c := range []struct {
		escalation []acpterm.EscalationStep
		signal     string
	}{{nil, "SIGTERM"}, {[]acpterm.EscalationStep{}, "SIGKILL"}} {
		term := hosttest.Create(t, m, consoleRequest("sleep"), &acpterm.CommandOptions{
			PTY: new(acpterm.PTYOptions), Escalation: c.escalation,
		})
		hosttest.AwaitOutput(t, term, "ready")
		require.True(t, term.HasPTY())
		require.NoError(t, term.Kill(t.Context()))
		require.Equal(t, acpterm.EndedByKill, term.EndedBy())
		if c.signal == "SIGTERM" && wintest.UnderWine() {
			require.Equal(t, uint32(0), *term.ExitStatus().ExitCode)
		} else {
			require.Equal(t, c.signal, *term.ExitStatus().Signal)
		}
		require.Empty(t, descendants())
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
	for _, flags := range []uint32{
		0, windows.CREATE_NEW_PROCESS_GROUP, windows.DETACHED_PROCESS, windows.CREATE_NO_WINDOW,
	} {
		atOnce := &acpterm.CommandOptions{PTY: new(acpterm.PTYOptions), Escalation: []acpterm.EscalationStep{}}
		term := hosttest.Create(t, m, consoleRequest("keep", strconv.Itoa(int(flags))), atOnce)
		hosttest.AwaitOutput(t, term, "ready")
		require.Len(t, descendants(), 2)
		require.NoError(t, term.Kill(t.Context()))
		require.Empty(t, descendants())
	}
}

// A release does not wait for a console, and a wait returns.
func TestPTYReleaseWhileItRuns(t *testing.T) {
	m := newPTYManager(t, nil)
	for i := range 20 {
		term := hosttest.Create(t, m, consoleRequest("flood", "100000000", "1000"), onPTY())
		if i%2 == 0 {
			hosttest.AwaitOutput(t, term, "0123456789abcde")
		}
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		hosttest.AwaitExit(t, term)
	}
}

// The host is terminated. The system ends its commands, and their consoles end with the host.
func TestTheHostsDeathEndsItsConsoles(t *testing.T) {
	host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "pty-host")
	output := hosttest.Must(host.StdoutPipe())
	require.NoError(t, host.Start())
	input := bufio.NewScanner(output)
	for input.Scan() && !strings.Contains(input.Text(), "ready") {
	}
	require.NoError(t, input.Err())
	processes := consoleHosts(t, host.Process.Pid)
	require.Len(t, processes, 1)
	for _, pid := range descendants() {
		if pid != host.Process.Pid {
			processes = append(processes, watch(t, pid))
		}
	}
	require.NoError(t, host.Process.Kill())
	host.Wait()
	for _, p := range processes {
		p.awaitExit()
	}
}

func TestPTYSize(t *testing.T) {
	m := newPTYManager(t, nil)
	term := hosttest.Create(t, m, consoleRequest("sleep"), onPTY())
	hosttest.AwaitOutput(t, term, "ready")
	require.Equal(t, acpterm.TerminalSize{Columns: 80, Rows: 24}, *term.Info().Size)
	for _, size := range [][2]int{{0, 1}, {1, 0}, {-1, 5}, {5, 1001}, {1001, 5}} {
		require.ErrorIs(t, term.Resize(size[0], size[1]), acpterm.ErrInvalidParams)
	}
	if wintest.UnderWine() {
		t.Skip("Wine 8's ResizePseudoConsole fails: it is not implemented")
	}
	require.NoError(t, term.Resize(132, 43))
	require.Equal(t, acpterm.TerminalSize{Columns: 132, Rows: 43}, *term.Info().Size)
}

// Many terminals at once leave nothing behind. Those that may not have their console yet when it is closed are killed
// immediately: under Wine 8 they keep running without it.
func TestManyPTYs(t *testing.T) {
	total := 100
	if testing.Short() {
		total = 20
	}
	m := newPTYManager(t, nil)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range total / 4 {
				options, ready := onPTY(), (worker+i)%2 == 0
				if !ready {
					options.Escalation = []acpterm.EscalationStep{}
				}
				term, err := m.Create(t.Context(), consoleRequest("sleep"), options)
				if err != nil {
					t.Error(err)
					return
				}
				if ready {
					hosttest.AwaitOutput(t, term, "ready")
				}
				if err := m.Release(t.Context(), "s", term.ID()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	require.Zero(t, m.Stats().Terminals)
}
