package proc

// These tests run commands on a pseudo console. They make each step of a start fail in turn, and check the command's
// input and environment, and the end of the command and its console.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/acpterm/acpterm/internal/wintest"
)

// onConsoleVariable makes the test binary one of the onConsole commands.
const onConsoleVariable = "ACPTERM_TEST_ON_CONSOLE"

// onConsole holds commands that open their console by name, because Wine 8 gives a process on a pseudo console no
// standard handles. Each exits with code 7.
var onConsole = map[string]func(in, out *os.File){
	// lines writes a thousand lines, each with its number.
	"lines": func(_, out *os.File) {
		for i := range 1000 {
			fmt.Fprintf(out, "line %d\n", i+1)
		}
	},
	// flood writes "ready", and then never stops writing.
	"flood": func(_, out *os.File) {
		for fmt.Fprintln(out, "ready"); ; {
			fmt.Fprintln(out, strings.Repeat("x", 1000))
		}
	},
	// sleep writes "ready", and sleeps.
	"sleep": func(_, out *os.File) {
		fmt.Fprintln(out, "ready")
		time.Sleep(5 * time.Minute)
	},
	// sizes writes the size of the console, and writes it again for each line of input.
	"sizes": func(in, out *os.File) {
		input := bufio.NewScanner(in)
		for more := true; more; more = input.Scan() {
			var info windows.ConsoleScreenBufferInfo
			if err := windows.GetConsoleScreenBufferInfo(windows.Handle(out.Fd()), &info); err != nil {
				fmt.Fprintln(out, err)
			}
			fmt.Fprintf(out, "(%d by %d)\n", info.Window.Right-info.Window.Left+1, info.Window.Bottom-info.Window.Top+1)
		}
		if err := input.Err(); err != nil {
			fmt.Fprintln(out, err)
		}
	},
	// echo writes each line of input in brackets, until the line is "end".
	"echo": func(in, out *os.File) {
		fmt.Fprintln(out, "ready")
		for input := bufio.NewScanner(in); input.Scan() && input.Text() != "end"; {
			fmt.Fprintf(out, "<%s>\n", input.Text())
		}
	},
}

func init() {
	run, ok := onConsole[os.Getenv(onConsoleVariable)]
	if !ok {
		return
	}
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		os.Exit(8)
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		os.Exit(9)
	}
	run(in, out)
	os.Exit(7)
}

// ptySpec returns a command on a PTY.
func ptySpec(t *testing.T, name string) Spec {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return Spec{
		Path: path, Args: []string{path}, Dir: os.TempDir(), Env: append(os.Environ(), onConsoleVariable+"="+name),
		PTY: &Size{Columns: 100, Rows: 30},
	}
}

// consoleHosts returns handles to the running conhost.exe processes started by this process.
func consoleHosts(t *testing.T) (hosts []windows.Handle) {
	t.Helper()
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	require.NoError(t, err)
	defer windows.CloseHandle(all)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(all, &entry); err == nil; err = windows.Process32Next(all, &entry) {
		name := windows.UTF16ToString(entry.ExeFile[:])
		if entry.ParentProcessID != windows.GetCurrentProcessId() || !strings.EqualFold(name, "conhost.exe") {
			continue
		}
		if host, err := windows.OpenProcess(windows.SYNCHRONIZE, false, entry.ProcessID); err == nil {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// awaitEnd waits until the processes have ended, and closes their handles.
func awaitEnd(t *testing.T, processes []windows.Handle) {
	t.Helper()
	for _, process := range processes {
		event, err := windows.WaitForSingleObject(process, 30_000)
		require.NoError(t, err)
		require.Equal(t, uint32(windows.WAIT_OBJECT_0), event, "the process still runs")
		windows.CloseHandle(process)
	}
}

// startPTY starts a tree on a PTY, like start. Its console must end with the test.
func startPTY(t *testing.T, name string) started {
	t.Helper()
	warmUp(t)
	t.Cleanup(func() { awaitEnd(t, consoleHosts(t)) })
	return start(t, ptySpec(t, name))
}

// shown reads the output until it contains the text.
func shown(t *testing.T, s started, text string) {
	t.Helper()
	var all strings.Builder
	for buffer := make([]byte, 1000); !strings.Contains(all.String(), text); {
		n, err := s.Output().Read(buffer)
		all.Write(buffer[:n])
		require.NoError(t, err, "%q", all.String())
	}
}

// The output contains everything that the command wrote, and ends with the command.
func TestPTYOutputEndsWithTheCommand(t *testing.T) {
	for i := range 10 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			s := startPTY(t, "lines")
			output, err := io.ReadAll(s.Output())
			require.NoError(t, err)
			for i := range 1000 {
				require.Contains(t, string(output), fmt.Sprintf("line %d\r\n", i+1))
			}
			require.Equal(t, ended{exit: Exit{Code: 7}}, <-s.exits)
			_, err = s.Write([]byte("late"))
			require.ErrorIs(t, err, os.ErrClosed)
			require.ErrorIs(t, s.Resize(Size{Columns: 5, Rows: 5}), os.ErrClosed)
		})
	}
}

func TestPTYInput(t *testing.T) {
	s := startPTY(t, "echo")
	shown(t, s, "ready")
	for _, word := range []string{"one", "Grüße", "two"} {
		n, err := s.Write([]byte(word + "\r"))
		require.NoError(t, err)
		require.Equal(t, len(word)+1, n)
		shown(t, s, "<"+word+">")
	}
	_, err := s.Write([]byte("end\r"))
	require.NoError(t, err)
	require.Equal(t, ended{exit: Exit{Code: 7}}, <-s.exits)
}

// Ctrl-C as keyboard input reaches the command: its group does not ignore it.
func TestPTYInterrupt(t *testing.T) {
	s := startPTY(t, "sleep")
	shown(t, s, "ready")
	_, err := s.Write([]byte("\x03"))
	require.NoError(t, err)
	exit := <-s.exits
	require.NoError(t, exit.err)
	require.NotEqual(t, Exit{Code: 7}, exit.exit)
}

func TestPTYSize(t *testing.T) {
	s := startPTY(t, "sizes")
	shown(t, s, "(100 by 30)")
	if wintest.UnderWine() {
		t.Skip("Wine 8's ResizePseudoConsole fails: it is not implemented")
	}
	require.NoError(t, s.Resize(Size{Columns: 120, Rows: 40}))
	for { // the console's size changes some time later
		_, err := s.Write([]byte("\r"))
		require.NoError(t, err)
		buffer := make([]byte, 10_000)
		n, err := s.Output().Read(buffer)
		require.NoError(t, err)
		if strings.Contains(string(buffer[:n]), "(120 by 40)") {
			return
		}
	}
}

// Every signal but SIGKILL closes the console, which ends an unresponsive command. On Wine 8, such a command ends with
// exit code 0.
func TestPTYSignals(t *testing.T) {
	for sig, name := range map[syscall.Signal]string{
		syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT", syscall.SIGKILL: "SIGKILL",
	} {
		t.Run(name, func(t *testing.T) {
			s := startPTY(t, "sleep")
			shown(t, s, "ready")
			requireEnds(t, s.Tree, sig)
			want := Exit{Signal: name}
			if wintest.UnderWine() && sig != syscall.SIGKILL {
				want = Exit{}
			}
			require.Equal(t, ended{exit: want}, <-s.exits)
			_, err := io.ReadAll(s.Output())
			require.NoError(t, err)
		})
	}
}

// Close ends the command and its console, even if the output is not read.
func TestPTYCloseEndsTheTree(t *testing.T) {
	for _, name := range []string{"sleep", "lines", "echo"} {
		t.Run(name, func(t *testing.T) {
			s := startPTY(t, name)
			s.Close()
			<-s.exits
			_, err := s.Write([]byte("late"))
			require.ErrorIs(t, err, os.ErrClosed)
		})
	}
}

// A console with more output than its pipe can hold ends when the pipe is closed. The cleanup of start waits for it.
func TestPTYWhoseOutputIsNotRead(t *testing.T) {
	s := startPTY(t, "flood")
	shown(t, s, "ready")
	requireEnds(t, s.Tree, syscall.SIGKILL)
	require.Equal(t, ended{exit: Exit{Signal: "SIGKILL"}}, <-s.exits)
}

// A blocked write ends when the console is closed, and later writes fail the same way.
func TestPTYWriteEnds(t *testing.T) {
	for range 100 {
		r, w, err := inputPipe()
		require.NoError(t, err)
		p := &pty{input: w, console: 1}
		written := make(chan error)
		go func() { _, err := p.write(make([]byte, 4*pipeSize)); written <- err }()
		require.NotZero(t, p.take())
		require.ErrorIs(t, <-written, os.ErrClosed)
		require.Zero(t, p.take())
		w.Close()
		_, err = p.write([]byte("x"))
		require.ErrorIs(t, err, os.ErrClosed)
		windows.CloseHandle(r)
	}
}

// A start that fails at any step leaves no process, no open handle and no console.
func TestPTYStartThatFailsLeavesNothing(t *testing.T) {
	steps := failures()
	steps["inputPipe"] = func(s *startCalls) {
		s.inputPipe = func() (windows.Handle, *os.File, error) { return 0, nil, errors.New("injected") }
	}
	steps["newConsole"] = func(s *startCalls) {
		s.newConsole = func(windows.Coord, windows.Handle, windows.Handle) (windows.Handle, error) { return 0, refused }
	}
	steps["startOnPTY"] = func(s *startCalls) {
		s.startOnPTY = func(p *pty, _ string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
			return p.startProcess(`C:\no\such\program.exe`, args, attr)
		}
	}
	warmUp(t)
	for step, fail := range steps {
		t.Run(step, func(t *testing.T) {
			calls, pid := systemCalls(), 0
			calls.startOnPTY = func(p *pty, path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
				number, handle, err := p.startProcess(path, args, attr)
				require.NoError(t, err)
				pid = number
				return number, handle, nil
			}
			fail(&calls)
			before := wintest.OpenHandles()
			tree, err := calls.startTree(ptySpec(t, "sleep"), new(sync.WaitGroup))
			require.Nil(t, tree)
			require.Error(t, err)
			_, bare := err.(syscall.Errno)
			require.Equal(t, step == "startOnPTY", bare, "%v", err)
			require.Equal(t, step == "assign" || step == "resume", pid != 0)
			if process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid)); err == nil {
				awaitEnd(t, []windows.Handle{process})
			}
			require.Equal(t, before, wintest.OpenHandles())
			awaitEnd(t, consoleHosts(t))
		})
	}
}

// A start fails with a clear error on a Windows without pseudo consoles.
func TestPTYUnsupported(t *testing.T) {
	calls := systemCalls()
	calls.newConsole = func(windows.Coord, windows.Handle, windows.Handle) (windows.Handle, error) {
		return 0, available(windows.NewLazySystemDLL("kernel32.dll").NewProc("NoSuchFunction"))
	}
	_, err := calls.startTree(ptySpec(t, "sleep"), new(sync.WaitGroup))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "Windows 10 1809")
	require.NoError(t, available(procCreatePseudoConsole))
}

// The command is in the job at its first instruction, and the console's process is not.
func TestPTYJobComesBeforeTheFirstInstruction(t *testing.T) {
	var steps []string
	calls := recorded(&steps)
	calls.startOnPTY = func(p *pty, path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
		require.NotZero(t, attr.Sys.CreationFlags&windows.CREATE_SUSPENDED)
		require.Zero(t, attr.Sys.CreationFlags&windows.CREATE_NEW_PROCESS_GROUP, "which would ignore CTRL_C")
		steps = append(steps, "start")
		return p.startProcess(path, args, attr)
	}
	var busy sync.WaitGroup
	tree, err := calls.startTree(ptySpec(t, "sleep"), &busy)
	require.NoError(t, err)
	hosts := consoleHosts(t)
	require.Len(t, hosts, 1)
	require.Equal(t, []string{"start", "assign", "resume"}, steps)
	require.Equal(t, []int{tree.PID()}, tree.members())
	tree.Close()
	tree.watch()
	tree.Output().Close()
	busy.Wait()
	awaitEnd(t, hosts)
}

// reportVariable names a file. It makes the test binary write its arguments, directory and environment to that file.
const reportVariable = "ACPTERM_TEST_REPORT"

func init() {
	if file := os.Getenv(reportVariable); file != "" {
		dir, err := os.Getwd()
		report := fmt.Sprintf("%q\n%q %v\n%q\n", os.Args, dir, err, os.Environ())
		os.WriteFile(file, []byte(report), 0o600)
		os.Exit(0)
	}
}

// A command on a PTY gets the same arguments, directory and environment as without one.
func TestPTYStartIsLikeOneWithout(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "report")
	env := append(os.Environ(), "b=2", "A=1", "a_b=ü😀", "Empty=", "=C:=C:\\windows", reportVariable+"="+file)
	for _, spec := range []Spec{
		{Args: []string{path}},
		{Args: []string{path, "", "a b", `"q"`, `\\"`, `C:\d\ `, "ü", "\t", `a\`}},
		{Args: []string{path}, CommandLine: `program "a  b" c"d"`},
	} {
		spec.Path, spec.Env, spec.Dir = path, env, t.TempDir()
		report := func() string {
			sup := new(Supervisor)
			tree, err := sup.Start(t.Context(), spec)
			require.NoError(t, err)
			_, err = io.ReadAll(tree.Output())
			require.NoError(t, err)
			requireEnds(t, tree, syscall.SIGKILL)
			tree.Close()
			tree.Output().Close()
			sup.Close()
			report, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.Remove(file))
			return string(report)
		}
		without := report()
		spec.PTY = &Size{Columns: 80, Rows: 24}
		require.Equal(t, without, report())
	}
	_, _, err = new(pty).startProcess("a\x00b", nil, &syscall.ProcAttr{Sys: new(syscall.SysProcAttr)})
	require.Error(t, err)
}

func TestEnvironmentBlock(t *testing.T) {
	for want, env := range map[string][]string{
		"\x00\x00":                         {},
		"a=1\x00\x00":                      {"a=1"},
		"=C:=x\x00A=1\x00b=2\x00c\x00\x00": {"b=2", "c", "A=1", "=C:=x"},
	} {
		block, err := environmentBlock(env)
		require.NoError(t, err)
		units, err := windows.UTF16FromString(strings.ReplaceAll(want, "\x00", "\x01"))
		require.NoError(t, err)
		for i, unit := range block {
			block[i] = max(unit, 1)
		}
		require.Equal(t, units[:len(units)-1], block)
	}
	_, err := environmentBlock([]string{"a=\x00"})
	require.Error(t, err)
}

// A command does not inherit an inheritable handle of this process: a pipe's output ends when this process closes the
// handle. The test makes the handle only after the console, because Wine 8's conhost.exe inherits all inheritable
// handles.
func TestPTYInheritsNoHandle(t *testing.T) {
	var r, w windows.Handle
	calls := systemCalls()
	calls.startOnPTY = func(p *pty, path string, args []string, attr *syscall.ProcAttr) (int, uintptr, error) {
		require.NoError(t, windows.CreatePipe(&r, &w, &windows.SecurityAttributes{Length: 24, InheritHandle: 1}, 0))
		return p.startProcess(path, args, attr)
	}
	var busy sync.WaitGroup
	tree, err := calls.startTree(ptySpec(t, "sleep"), &busy)
	require.NoError(t, err)
	reader := os.NewFile(uintptr(r), "r")
	defer reader.Close()
	shown(t, started{Tree: tree}, "ready")
	require.True(t, wintest.HasWriter(reader))
	require.NoError(t, windows.CloseHandle(w))
	require.False(t, wintest.HasWriter(reader))
	tree.Close()
	tree.watch()
	tree.Output().Close()
	busy.Wait()
}
