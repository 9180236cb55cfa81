package procfs

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) {
	linuxtest.Main()
	racetest.Restart()
	os.Exit(m.Run())
}

// statLine returns a line of the process table.
func statLine(pid int, name, state string, rest ...int) []byte {
	fields := make([]int, 49)
	copy(fields, rest)
	line := fmt.Sprintf("%d (%s) %s", pid, name, state)
	for _, field := range fields {
		line += fmt.Sprint(" ", field)
	}
	return []byte(line + "\n")
}

func TestNamesInTheTable(t *testing.T) {
	for _, name := range []string{"sh", "", "a b", ") Z 1 (", "((", "))", "\n", "1 (x) R 2 3 4", "\xff", strings.Repeat(")", 15)} {
		p, err := parseStat(statLine(7, name, "S", 3, 4, 5))
		require.NoError(t, err, "%q", name)
		require.Equal(t, 7, p.PID)
		require.Equal(t, []int{3, 4, 5}, []int{p.Parent, p.Group, p.Session}, "%q", name)
		require.False(t, p.Exited)
	}
	for _, line := range []string{"", "7", "7 (sh", "7 sh) S", "7 (sh) S 1 2 3", ")("} {
		_, err := parseStat([]byte(line))
		require.Error(t, err, "%q", line)
	}
}

// A name cannot change the other fields of a line.
func FuzzParseStat(f *testing.F) {
	f.Add([]byte("sh"), []byte("7 (sh) S 1 2 3"))
	f.Add([]byte(") Z 1 ("), []byte(")("))
	f.Add([]byte("\x00)"), []byte("7 () S"))
	f.Fuzz(func(t *testing.T, name, line []byte) {
		parseStat(line) // must not panic
		p, err := parseStat(statLine(7, string(name), "T", 3, 4, 5))
		if err != nil || p.PID != 7 || p.Parent != 3 || p.Group != 4 || p.Session != 5 || p.Exited || !p.Stopped {
			t.Fatalf("%q: %+v, %v", name, p, err)
		}
	})
}

// Now distinguishes earlier from later processes, even within a clock tick.
func TestNow(t *testing.T) {
	var c Table
	defer c.Close()
	begin := func() ID {
		command := exec.Command("sleep", "300")
		require.NoError(t, command.Start())
		defer command.Wait()
		defer command.Process.Kill()
		p, err := new(Table).Read(command.Process.Pid)
		require.NoError(t, err)
		return p.ID
	}
	for range 20 {
		before := begin()
		now := c.Now()
		after := begin()
		require.False(t, before.After(now), "%v, %v", before, now)
		require.True(t, after.After(now), "%v, %v", after, now)
	}
}

// A thread may give itself any name, without an effect on the entry of its process.
func TestAProcessWithAnOddName(t *testing.T) {
	name := append([]byte(") Z 0 0 0 ("), 0)
	done := make(chan struct{})
	defer close(done)
	named := make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
		named <- unix.Gettid()
		<-done
	}()
	thread := <-named
	if thread == os.Getpid() {
		t.Skip("the goroutine has the first thread")
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", thread))
	require.NoError(t, err)
	require.Contains(t, string(text), string(name[:len(name)-1]))
	_, err = new(Table).Read(thread)
	require.ErrorIs(t, err, unix.ESRCH, "a thread is no process")
	p, err := new(Table).Read(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, os.Getppid(), p.Parent)
}

// During execve a new program's environment seems empty. The kernel sets the start of the code only after the
// environment.
func TestAProgramThatIsBeingPutInPlace(t *testing.T) {
	fields := make([]int, 48)
	fields[fieldStartCode-1], fields[fieldEnvStart-1], fields[fieldEnvEnd-1] = 0, 1000, 1000
	p, err := parseStat(statLine(7, "sh", "R", fields...))
	require.NoError(t, err)
	require.True(t, p.Executing)
	fields[fieldStartCode-1], fields[fieldEnvEnd-1] = 500, 1070
	p, err = parseStat(statLine(7, "sh", "R", fields...))
	require.NoError(t, err)
	require.False(t, p.Executing)
	require.Equal(t, 70, p.Environ)
}

const lastPID = "/proc/sys/kernel/ns_last_pid"

// A Handle always refers to the process that it was opened for, even after the system reuses the number.
func TestAHandleDoesNotMeanALaterProcess(t *testing.T) {
	if !linuxtest.InPIDNamespace(t) {
		return
	}
	for range 50 {
		first := exec.Command("sleep", "300")
		require.NoError(t, first.Start())
		handle, err := new(Table).Open(first.Process.Pid)
		require.NoError(t, err)
		require.NoError(t, handle.Signal(syscall.SIGKILL))
		first.Wait()
		require.NoError(t, os.WriteFile(lastPID, fmt.Append(nil, first.Process.Pid-1), 0))
		second := exec.Command("sleep", "300")
		require.NoError(t, second.Start())
		same := second.Process.Pid == first.Process.Pid
		_, err = handle.Process()
		require.Error(t, err)
		require.ErrorIs(t, handle.Signal(syscall.SIGKILL), unix.ESRCH)
		writes, err := handle.CanWriteTo(File{})
		require.False(t, writes)
		require.True(t, IsGone(err))
		_, err = handle.Variable("PATH")
		require.True(t, IsGone(err))
		handle.Close()
		now, err := new(Table).Read(second.Process.Pid)
		require.NoError(t, err)
		require.False(t, now.Exited)
		second.Process.Kill()
		status, err := second.Process.Wait()
		require.NoError(t, err)
		require.Equal(t, "signal: killed", status.String())
		if same {
			return
		}
	}
	t.Fatal("no process got the number of another")
}

func TestTheTable(t *testing.T) {
	pids, err := new(Table).PIDs()
	require.NoError(t, err)
	require.Contains(t, pids, os.Getpid())
	require.IsIncreasing(t, pids)
	var c Table
	defer c.Close()
	_, err = c.LastPID()
	require.NoError(t, err)
	require.Positive(t, Forks())
	require.Greater(t, Limit(), uint64(os.Getpid()))
	_, err = new(Table).Open(1 << 30)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestWhoCanWriteToAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	pipe, err := FileOf(int(w.Fd()))
	require.NoError(t, err)
	require.True(t, pipe.IsPipe())
	self, err := new(Table).Open(os.Getpid())
	require.NoError(t, err)
	defer self.Close()
	writes, err := self.CanWriteTo(pipe)
	require.NoError(t, err)
	require.True(t, writes)
	w.Close()
	writes, err = self.CanWriteTo(pipe)
	require.NoError(t, err)
	require.False(t, writes, "the reading end is no use")
}
