package lawtest

import (
	"os"
	"regexp"
	"runtime"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/stretchr/testify/require"
)

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
