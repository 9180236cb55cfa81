package acpterm_test

// What process trees cost: threads while they idle, time to end them.
//
//	go test -run '^$' -bench . -benchtime 20x .

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// threads is how many this process has.
func threads(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	return len(entries)
}

func BenchmarkIdleTerminals(b *testing.B) {
	const terminals = 300
	m := newManager(b, nil)
	for b.Loop() {
		run(b, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "true"})
		before := threads(b)
		for range terminals {
			create(b, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sleep", Args: []string{"3600"}})
		}
		more := threads(b) - before
		b.ReportMetric(float64(more), "threads-more")
		if more > 10 {
			b.Errorf("%d idle terminals cost %d threads", terminals, more)
		}
		require.NoError(b, m.ReleaseSession(b.Context(), "s"))
	}
}

// treeOf50 is a shell with 49 sleeping children; it says "ready".
var treeOf50 = []string{"-c", "for i in $(seq 49); do sleep 3600 & done; echo ready; wait"}

// bystanders are processes that have nothing to do with it.
func bystanders(b *testing.B, n int) {
	all := exec.Command("sh", "-c", fmt.Sprintf("for i in $(seq %d); do sleep 3600 & done; echo ready; wait", n))
	all.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := all.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, all.Start())
	_, err = out.Read(make([]byte, 10))
	require.NoError(b, err)
	b.Cleanup(func() {
		syscall.Kill(-all.Process.Pid, syscall.SIGKILL)
		all.Wait()
	})
}

// treeEnder is one way to run and end a tree.
type treeEnder struct {
	name  string
	start func(b *testing.B) (end func())
}

func treeEnders(m *acpterm.Manager) []treeEnder {
	return []treeEnder{
		{"acpterm", func(b *testing.B) func() {
			term := create(b, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: treeOf50})
			awaitOutput(b, term, "ready")
			return func() { require.NoError(b, term.Kill(b.Context())) }
		}},
		{"bare", func(b *testing.B) func() {
			cmd := exec.Command("sh", treeOf50...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			out, err := cmd.StdoutPipe()
			require.NoError(b, err)
			require.NoError(b, cmd.Start())
			buf := make([]byte, 10)
			n, err := out.Read(buf)
			require.NoError(b, err)
			require.True(b, bytes.HasPrefix(buf[:n], []byte("ready")))
			return func() {
				syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
				cmd.Wait() // and nobody looks what became of the others
			}
		}},
	}
}

// BenchmarkKillTreeOf50 ends a tree of 50 processes, with few and with a thousand others on the machine, beside a bare
// signal to the group and a wait for its leader. Where there is strace, it counts one kill's system calls as well.
func BenchmarkKillTreeOf50(b *testing.B) {
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			if others > 0 {
				bystanders(b, others)
			}
			for _, way := range treeEnders(newManager(b, nil)) {
				b.Run(way.name, func(b *testing.B) {
					for b.Loop() {
						b.StopTimer()
						end := way.start(b)
						b.StartTimer()
						end()
					}
					b.ReportMetric(systemCalls(b, way.start(b)), "syscalls/op")
				})
			}
		})
	}
}

// systemCalls is how many system calls this process makes while it does something, as strace counts them; 0 where
// there is no strace, or it may not look.
func systemCalls(b *testing.B, do func()) float64 {
	summary := filepath.Join(b.TempDir(), "summary")
	strace := exec.Command("strace", "-f", "-c", "-U", "calls,name", "-o", summary, "-p", strconv.Itoa(os.Getpid()))
	said, err := strace.StderrPipe()
	require.NoError(b, err)
	if strace.Start() != nil {
		do()
		return 0
	}
	buf := make([]byte, 1000)
	n, _ := said.Read(buf) // "attached"
	attached := strings.Contains(string(buf[:n]), "attached")
	do()
	strace.Process.Signal(os.Interrupt)
	strace.Wait()
	if !attached {
		b.Logf("strace: %s", buf[:n])
		return 0
	}
	table, err := os.ReadFile(summary)
	require.NoError(b, err)
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[1] == "total" {
			calls, err := strconv.ParseFloat(fields[0], 64)
			require.NoError(b, err)
			return calls
		}
	}
	b.Logf("strace says no total: %s", table)
	return 0
}

// BenchmarkReleaseEnded is a release when the command and all of its tree have ended by themselves.
func BenchmarkReleaseEnded(b *testing.B) {
	m := newManager(b, nil)
	for b.Loop() {
		b.StopTimer()
		term := create(b, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "true"})
		_, err := term.Wait(b.Context())
		require.NoError(b, err)
		b.StartTimer()
		require.NoError(b, m.Release(b.Context(), "s", term.ID()))
	}
}
