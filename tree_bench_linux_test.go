package acpterm_test

// What process trees cost: threads while they idle, time to end them.
//
//	go test -run '^$' -bench . -benchtime 20x .

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
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

// BenchmarkKillTreeOf50 ends a tree of 50 processes, with few and with a thousand others on the machine, beside a bare
// signal to the group and a wait until all of it is gone.
func BenchmarkKillTreeOf50(b *testing.B) {
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			if others > 0 {
				bystanders(b, others)
			}
			b.Run("acpterm", func(b *testing.B) {
				m := newManager(b, nil)
				for b.Loop() {
					b.StopTimer()
					term := create(b, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh", Args: treeOf50})
					awaitOutput(b, term, "ready")
					b.StartTimer()
					require.NoError(b, term.Kill(b.Context()))
				}
			})
			b.Run("bare", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					cmd := exec.Command("sh", treeOf50...)
					cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
					out, err := cmd.StdoutPipe()
					require.NoError(b, err)
					require.NoError(b, cmd.Start())
					buf := make([]byte, 10)
					n, err := out.Read(buf)
					require.NoError(b, err)
					require.True(b, bytes.HasPrefix(buf[:n], []byte("ready")))
					b.StartTimer()
					syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
					cmd.Wait() // and nobody looks what became of the others
				}
			})
		})
	}
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
