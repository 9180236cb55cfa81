package lawtest

// What holds on every system: the tests that hold wherever commands run, law 6 at the moment when Close returns, memory,
// and what a system without PTYs answers.

import (
	"errors"
	"os"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, systemChildren()) }

// here returns this system as a place for terminaltest.
func here() terminaltest.Place {
	p := hosttest.Here()
	trees(&p)
	return p
}

func TestHere(t *testing.T) { terminaltest.Run(t, here()) }

// Law 6, at the very moment when Close returns.
func TestCloseLeavesNothing(t *testing.T) {
	leaktest.NeedsEndsInTheMiddle(t)
	for range 20 {
		mark := leaktest.NewMark()
		before := leaktest.Descriptors()
		m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
			Commands: acpterm.CommandOptions{Env: append(os.Environ(), mark)},
		}))
		for _, child := range []string{"sleep", "exit", "holder", "stubborn-holder", "polite"} {
			hosttest.Create(t, m, hosttest.ChildRequest(child, "0"), &acpterm.CommandOptions{
				Timeout:    time.Hour,
				Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Millisecond}},
			})
		}
		require.NoError(t, m.Close())
		require.Equal(t, before, leaktest.Descriptors())
		require.Empty(t, leaktest.Processes(mark))
		require.Empty(t, leaktest.Goroutines())
	}
}

// 256 MiB of output pass through a limit of 1 MiB. Only the ring buffer and little more is allocated, so the process's
// memory does not grow. In .ci/long it is 10 GiB.
func TestMemoryStaysWhereItWas(t *testing.T) {
	total := "268435456"
	if longtest.Is() {
		total = "10737418240"
	}
	m := hosttest.NewManager(t, nil)
	hosttest.Run(t, m, hosttest.ChildRequest("flood", "3000000", "65536")) // pays the one-time costs

	resident := residentMemory(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	term := hosttest.Finish(t, m, hosttest.ChildRequest("flood", total, "65536"))
	runtime.ReadMemStats(&after)
	t.Logf("%s bytes of output: allocated %d bytes in all; resident before: %s, after: %s",
		total, after.TotalAlloc-before.TotalAlloc, resident, residentMemory(t))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))

	out := term.Output()
	require.Len(t, out.Output, 1<<20)
	require.True(t, out.Truncated)
	require.Equal(t, int64(hosttest.Number(total)), term.OutputTotal())
}

// residentMemory returns this process's resident memory, now and at its peak, if the system reports it.
func residentMemory(t *testing.T) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Logf("resident memory is not known: %v", err)
		return "not known"
	}
	return string(regexp.MustCompile(`\d+ kB`).Find(regexp.MustCompile(`VmRSS:.*`).Find(status))) +
		" (peak " + string(regexp.MustCompile(`\d+ kB`).Find(regexp.MustCompile(`VmHWM:.*`).Find(status))) + ")"
}

func TestWithoutAPTY(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep"))
	require.False(t, term.HasPTY())
	_, err := term.Write([]byte("x"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, term.Resize(80, 24), errors.ErrUnsupported)
	require.Nil(t, term.Info().Size)
}
