package lawtest

// Laws 2, 3 and 6 on Windows, with real processes. And limits there: which ones a terminal has, and which ones make a
// create fail. Package internal/proc tests their enforcement by a job.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/capture"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/wintest"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

func init() {
	// spawn FLAGS COUNT: starts that many sleeping children with those creation flags, prints their pids or the error
	// and then "ready", and sleeps.
	hosttest.Children["spawn"] = func(args []string) {
		spawn(args)
		time.Sleep(time.Hour)
	}
	// spawn-and-exit: like spawn, but exits.
	hosttest.Children["spawn-and-exit"] = spawn
	// hold: writes a line to standard error, and sleeps with its standard output open.
	hosttest.Children["hold"] = func([]string) {
		fmt.Fprintln(os.Stderr, "ready")
		time.Sleep(time.Hour)
	}
	// quote TEXT...: writes each argument, quoted.
	// write-quoted TEXT...: writes each argument, which is quoted as in Go, in a separate write.
	hosttest.Children["write-quoted"] = func(args []string) {
		for _, arg := range args {
			os.Stdout.WriteString(hosttest.Must(strconv.Unquote(arg)))
		}
	}
	hosttest.Children["quote"] = func(args []string) { fmt.Printf("%q", args) }
	// write-to HANDLE: prints whether it can, and sleeps.
	hosttest.Children["write-to"] = func(args []string) {
		var n uint32
		fmt.Println(windows.WriteFile(windows.Handle(hosttest.Number(args[0])), []byte("x"), &n, nil))
		time.Sleep(time.Hour)
	}
	// write-nothing: writes "a", no bytes, and "b".
	hosttest.Children["write-nothing"] = func([]string) {
		var n uint32
		for _, text := range []string{"a", "", "b"} {
			windows.WriteFile(windows.Handle(os.Stdout.Fd()), []byte(text), &n, nil)
		}
	}
	// host: a host with terminals. It prints the pids of a command and its child, then sleeps.
	hosttest.Children["host"] = func([]string) {
		m := hosttest.Must(acpterm.NewManager(nil))
		term, err := m.Create(context.Background(), hosttest.ChildRequest("spawn", "0", "1"), nil)
		if err != nil {
			panic(err)
		}
		for chunk := range term.Follow(context.Background(), 0) {
			fmt.Print(chunk.Text)
		}
	}
}

func spawn(args []string) {
	defer fmt.Println("ready")
	for range hosttest.Number(args[1]) {
		child := exec.Command(hosttest.Executable(), hosttest.ChildMark, "hold")
		child.Stdout = os.Stdout
		ready := hosttest.Must(child.StderrPipe())
		child.SysProcAttr = &syscall.SysProcAttr{CreationFlags: uint32(hosttest.Number(args[0]))}
		if err := child.Start(); err != nil {
			fmt.Println(err)
			return
		}
		if n, _ := ready.Read(make([]byte, 1)); n == 0 {
			fmt.Println(child.Wait())
			return
		}
		fmt.Println(child.Process.Pid)
	}
}

// spawned opens the processes started by spawn, once they are all set up.
func spawned(t *testing.T, term *acpterm.Terminal, count int) (processes []watched) {
	t.Helper()
	var output string
	for chunk := range term.Follow(t.Context(), 0) {
		if output += chunk.Text; strings.Contains(output, "ready") {
			break
		}
	}
	for _, line := range strings.Fields(output) {
		if line != "ready" {
			pid, err := strconv.Atoi(line)
			require.NoError(t, err, "%s", output)
			processes = append(processes, watch(t, pid))
		}
	}
	require.Len(t, processes, count)
	return processes
}

// Children of the command with any process group and console are in its job and end with it, even if there are more
// than the first query of a job has room for.
func TestKillEndsChildrenOfEveryKind(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for _, c := range []struct{ flags, count int }{
		{0, 2}, {windows.CREATE_NEW_PROCESS_GROUP, 2}, {windows.DETACHED_PROCESS, 2}, {windows.CREATE_NO_WINDOW, 2},
		{windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS, 2}, {0, 20},
	} {
		for _, child := range []string{"spawn", "spawn-and-exit"} {
			atOnce := &acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}}
			term := hosttest.Create(t, m, hosttest.ChildRequest(child, strconv.Itoa(c.flags), strconv.Itoa(c.count)), atOnce)
			processes := spawned(t, term, c.count)
			if child == "spawn-and-exit" {
				hosttest.AwaitExit(t, term)
			}
			for _, p := range processes {
				require.True(t, p.runs())
			}
			require.NoError(t, term.Kill(t.Context()))
			for _, p := range processes {
				require.False(t, p.runs(), "%s with %+v", child, c)
			}
		}
	}
}

func TestNobodyBreaksAwayFromTheJob(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, hosttest.ChildRequest("spawn", strconv.Itoa(windows.CREATE_BREAKAWAY_FROM_JOB), "1"))
	hosttest.AwaitOutput(t, term, windows.ERROR_ACCESS_DENIED.Error())
}

// If nothing can receive the request to end, a kill does not wait, although the grace period is an hour.
func TestKillWithoutAConsole(t *testing.T) {
	if leaktest.CanAsk() {
		t.Skip("there is a console")
	}
	m := hosttest.NewManager(t, nil)
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"),
		&acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}})
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
	require.Nil(t, term.Output().ExitStatus.ExitCode)
}

// Only the command receives CTRL_BREAK: neither this process nor another terminal's.
func TestCtrlBreakReachesNobodyElse(t *testing.T) {
	leaktest.NeedsAsking(t)
	m := hosttest.NewManager(t, nil)
	other := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
	for range 10 {
		term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
		require.NoError(t, term.Kill(t.Context()))
	}
	require.Equal(t, acpterm.StateRunning, other.State())
}

// If another process ended the command, it has an exit code.
func TestTerminatedByAStranger(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("spawn", "0", "0"))
	for _, pid := range descendants() {
		process, err := os.FindProcess(pid)
		require.NoError(t, err)
		require.NoError(t, process.Kill())
	}
	status := hosttest.AwaitExit(t, term)
	require.Equal(t, uint32(1), *status.ExitCode)
	require.Equal(t, acpterm.EndedByItself, term.EndedBy())
}

// Bursts larger than the pipe, followed by an exit immediately, lose no byte.
func TestBurstThenExit(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for range 50 {
		term := hosttest.Finish(t, m, hosttest.ChildRequest("flood", "100000", "100000"))
		require.Equal(t, int64(100_000), term.OutputTotal())
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
}

// Writing nothing does not close the output. (Wine 8 does not let the reader notice; Windows does.)
func TestWritingNothingEndsNothing(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	require.Equal(t, "ab", hosttest.Run(t, m, hosttest.ChildRequest("write-nothing")).Output)
}

// A command does not inherit the host's inheritable handles: the pipe of one ends when the host closes it.
func TestCommandInheritsItsThreeHandlesOnly(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	var r, w windows.Handle
	require.NoError(t, windows.CreatePipe(&r, &w, &windows.SecurityAttributes{Length: 24, InheritHandle: 1}, 0))
	reader := os.NewFile(uintptr(r), "r")
	defer reader.Close()
	term := hosttest.Create(t, m, hosttest.ChildRequest("write-to", strconv.Itoa(int(w))))
	hosttest.AwaitOutput(t, term, "\n")
	require.True(t, wintest.HasWriter(reader))
	require.NoError(t, windows.CloseHandle(w))
	require.False(t, wintest.HasWriter(reader), "the command: %s", term.Output().Output)
}

// The host is terminated, so it cannot react. The system ends its commands' trees.
func TestTheHostsDeathEndsItsTrees(t *testing.T) {
	host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "host")
	output := hosttest.Must(host.StdoutPipe())
	require.NoError(t, host.Start())
	var said string
	for buffer := make([]byte, 1000); !strings.Contains(said, "ready"); {
		n, err := output.Read(buffer)
		require.NoError(t, err)
		said += string(buffer[:n])
	}
	var processes []watched
	for _, pid := range descendants() {
		if pid != host.Process.Pid {
			processes = append(processes, watch(t, pid))
		}
	}
	require.GreaterOrEqual(t, len(processes), 2, "the command and its child")
	require.NoError(t, host.Process.Kill())
	host.Wait()
	for _, p := range processes {
		p.awaitExit() // the system has already begun that
	}
}

// A hundred terminals, ended in every possible way, leave as many handles as there were before.
func TestNoHandlesAreLeft(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	all := func(n int) {
		for i := range n {
			switch i % 4 {
			case 0:
				hosttest.Run(t, m, hosttest.ChildRequest("exit", "3"))
			case 1:
				term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
				require.NoError(t, term.Kill(t.Context()))
			case 2:
				hosttest.AwaitExit(t, hosttest.Create(t, m, hosttest.ChildRequest("holder")))
			case 3:
				_, err := m.Create(t.Context(), hosttest.CommandRequest(hosttest.NotAProgram(t)), nil)
				require.ErrorIs(t, err, acpterm.ErrNotExecutable)
			}
			require.NoError(t, m.ReleaseSession(t.Context(), "s"))
		}
	}
	all(4) // pays the one-time costs
	before := wintest.OpenHandles()
	all(100)
	require.Equal(t, before, wintest.OpenHandles())
}

func TestShellLinesRun(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for line, want := range map[string]string{
		"echo one&& echo two": "one\r\ntwo\r\n",
		`echo "a b"&echo c`:   "\"a b\"\r\nc\r\n",
		`"` + hosttest.Executable() + `" ` + hosttest.ChildMark + ` quote "a b" c`: `["a b" "c"]`,
	} {
		out := hosttest.Run(t, m, hosttest.CommandRequest(line))
		require.Equal(t, want, out.Output, line)
	}
	out := hosttest.Run(t, m, hosttest.CommandRequest("exit /b 5"))
	require.Equal(t, uint32(5), *out.ExitStatus.ExitCode)
}

// Output in the code page of the console becomes UTF-8 in every way of reading it, including an incomplete character
// shown at the command's end. UTF-8 stays unchanged.
func TestOutputInACodePage(t *testing.T) {
	page := capture.ConsoleCodePage()
	require.NotNil(t, page)
	e9 := page.Single[0xe9-0x80]
	m := hosttest.NewManager(t, nil)
	write := func(texts ...string) acpterm.CreateTerminalRequest {
		for i, text := range texts {
			texts[i] = strconv.QuoteToASCII(text)
		}
		return hosttest.ChildRequest("write-quoted", texts...)
	}
	term := hosttest.Finish(t, m, write("caf\xe9 ", "é\n", "é✓\n", "\xe2", "\x9c\x93\n", "\xe9"))
	want := "caf" + e9 + " " + page.Single[0xc3-0x80] + page.Single[0xa9-0x80] + "\né✓\n✓\n" + e9
	require.Equal(t, want, term.Output().Output)
	var raw string
	for chunk := range term.Follow(t.Context(), 0) {
		require.Equal(t, chunk.Text, chunk.Raw)
		raw += chunk.Raw
	}
	require.Equal(t, want, raw)
	require.EqualValues(t, len(want), term.OutputTotal())

	// The limit applies to the arriving text.
	req := write(strings.Repeat("\xe9", 10))
	req.OutputByteLimit = new(uint64(3 * len(e9)))
	out := hosttest.Finish(t, m, req).Output()
	require.Equal(t, strings.Repeat(e9, 3), out.Output)
	require.True(t, out.Truncated)
}

// The shell named by the host runs lines. cmd.exe gets them unchanged, others as one argument.
func TestShellsOfTheHost(t *testing.T) {
	cmd := hosttest.Must(usershell.KnownShell("cmd"))
	dir := t.TempDir()
	fake := filepath.Join(dir, "pwsh.exe")
	program, err := os.ReadFile(hosttest.Executable())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(fake, program, 0o700))
	for _, name := range []string{"bash.exe", "wsl.exe"} {
		require.NoError(t, os.Link(fake, filepath.Join(dir, name)))
	}
	env := append(os.Environ(), "PATH="+dir, `COMSPEC=C:\evil.exe`)
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Env: env, Shell: &cmd, ShellLines: acpterm.ShellAlways},
	})
	req := hosttest.CommandRequest(`echo "a  b"& echo %NAME%^&`)
	req.Env = []acpterm.EnvVariable{{Name: "NAME", Value: "c d"}, {Name: "COMSPEC", Value: fake}}
	require.Equal(t, "\"a  b\"\r\nc d&\r\n", hosttest.Run(t, m, req).Output)
	require.EqualValues(t, 5, *hosttest.Run(t, m, hosttest.CommandRequest("exit 5")).ExitStatus.ExitCode)
	_, err = m.Create(t.Context(), hosttest.CommandRequest("echo a\necho b"), nil)
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)

	for _, name := range []string{"pwsh", "bash", "wsl"} {
		known := hosttest.Must(usershell.KnownShell(name))
		// As a child the test binary prints its arguments.
		known.Args = append([]string{hosttest.ChildMark, "quote"}, known.Args...)
		session := acpterm.SessionID(name)
		require.NoError(t, m.OpenSession(session, &acpterm.SessionOptions{
			Commands: acpterm.CommandOptions{Shell: &known},
		}))
		const line = `Get-Item "a  b\" | % { "$_" } # 'é' \\`
		want := append(slices.Clone(known.Args[2:]), line)
		require.Equal(t, fmt.Sprintf("%q", want), hosttest.Run(t, m, hosttest.InSession(session, hosttest.CommandRequest(line))).Output, name)
	}
	_, err = acpterm.NewManager(&acpterm.Options{
		Commands: acpterm.CommandOptions{Shell: &acpterm.Shell{Program: "CMD.exe", Args: []string{"/c"}}},
	})
	hosttest.RequireOptionRefused(t, err, "new manager", "Options.Commands.Shell")
}

// Arguments reach a batch file, and a program that it passes them to, as intended. Arguments that cmd.exe would change
// are refused, and nothing runs.
func TestBatchFiles(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Dir: t.TempDir()}})
	dir := t.TempDir()
	batch := filepath.Join(dir, "my tool.bat")
	require.NoError(t, os.WriteFile(batch, []byte("@\""+hosttest.Executable()+"\" "+hosttest.ChildMark+" quote %*\r\n@exit /b 3\r\n"), 0o600))
	for _, args := range [][]string{
		{}, {"one"}, {"a b", "c"}, {"a&echo pwned", "|more", ">x", "(a)", "^"}, {`C:\dir\`, "--x=y", "a;b,c"}, {"é✓", "", "'"},
	} {
		out := hosttest.Run(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: batch, Args: args})
		require.Equal(t, fmt.Sprintf("%q", args), out.Output)
		require.Equal(t, uint32(3), *out.ExitStatus.ExitCode)
	}
	ran := filepath.Join(dir, "ran")
	for i, attack := range []string{`"&echo x>` + ran, `" & calc`, "%PATH%", "%CMDCMDLINE:~-1%&calc", "a\r\necho x>" + ran, "!x!"} {
		_, err := m.Create(t.Context(), hosttest.CommandRequest(batch, "ok", attack), nil)
		require.ErrorIs(t, err, acpterm.ErrInvalidParams, "%d", i)
		require.Contains(t, err.Error(), "args[1]")
	}
	require.NoFileExists(t, ran)
	require.Len(t, m.Terminals(), 6)
}

func TestSystemRootReachesTheCommand(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Env: []string{"A=1"}}})
	out := hosttest.Run(t, m, hosttest.ChildRequest("environ")).Output
	require.Contains(t, strings.ToUpper(out), "\nSYSTEMROOT="+strings.ToUpper(os.Getenv("SYSTEMROOT"))+"\n")
}

// watched is a process whose identity is fixed while it is watched.
type watched struct {
	t      testing.TB
	handle windows.Handle
}

// watch opens a running process.
func watch(t testing.TB, pid int) watched {
	t.Helper()
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	require.NoError(t, err, "process %d", pid)
	t.Cleanup(func() { windows.CloseHandle(handle) })
	return watched{t, handle}
}

// runs reports whether it has not exited.
func (w watched) runs() bool {
	w.t.Helper()
	event, err := windows.WaitForSingleObject(w.handle, 0)
	require.NoError(w.t, err)
	return event == uint32(windows.WAIT_TIMEOUT)
}

// awaitExit returns when it has exited.
func (w watched) awaitExit() {
	w.t.Helper()
	_, err := windows.WaitForSingleObject(w.handle, windows.INFINITE)
	require.NoError(w.t, err)
}

// descendants returns the numbers of the processes that run this program, except this one. Tests do not run in
// parallel, so they all belong to this test.
func descendants() (pids []int) {
	for _, entry := range leaktest.Snapshot() {
		if entry.ProcessID != windows.GetCurrentProcessId() &&
			windows.UTF16ToString(entry.ExeFile[:]) == filepath.Base(hosttest.Executable()) {
			pids = append(pids, int(entry.ProcessID))
		}
	}
	return pids
}

func TestLimitsOnWindows(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	limits := acpterm.Limits{CPUTime: 1500 * time.Millisecond, Memory: 1 << 30, Processes: 7, Nice: 5}
	term := hosttest.Create(t, m, hosttest.ChildRequest("exit", "0"), &acpterm.CommandOptions{Limits: &limits})
	require.Equal(t, []acpterm.EnforcedLimit{
		{Name: "CPUTime", Value: 2, By: "job object", Tree: true},
		{Name: "Memory", Value: 1 << 30, By: "job object", Tree: true},
		{Name: "Processes", Value: 7, By: "job object", Tree: true},
		{Name: "Nice", Value: 5, By: "priority"},
	}, term.Info().Limits)
	hosttest.AwaitExit(t, term)
}

func TestLimitsThatNoJobHas(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for field, limits := range map[string]acpterm.Limits{"OpenFiles": {OpenFiles: 5}, "FileSize": {FileSize: 5}} {
		here().RequireRefused(t, m, "Limits."+field, limits)
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.CommandOptions{Limits: &limits})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "Limits."+field+": cannot be enforced on Windows")
	}
}
