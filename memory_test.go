package acpterm_test

import (
	"os"
	"regexp"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// longVariable is set for tests of .ci/long, where some run more commands or write more.
const longVariable = "ACPTERM_TEST_LONG"

// A gibibyte of output through a limit of 1 MiB: what is allocated is the ring and little more, so the process's memory stays
// where it was. .ci/long has it be 10 GiB.
func TestMemoryStaysWhereItWas(t *testing.T) {
	total := "1073741824"
	if os.Getenv(longVariable) != "" {
		total = "10737418240"
	}
	m := newManager(t, nil)
	run(t, m, childRequest("flood", "3000000", "65536")) // what a first time costs is paid

	resident := residentMemory(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	term := finish(t, m, childRequest("flood", total, "65536"))
	runtime.ReadMemStats(&after)
	t.Logf("%s bytes of output: allocated %d bytes in all; resident before: %s, after: %s",
		total, after.TotalAlloc-before.TotalAlloc, resident, residentMemory(t))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))

	out := term.Output()
	require.Len(t, out.Output, 1<<20)
	require.True(t, out.Truncated)
	require.Equal(t, int64(number(total)), term.OutputTotal())
}

// residentMemory is this process's, now and at its peak, where the system tells.
func residentMemory(t *testing.T) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Logf("resident memory is not known: %v", err)
		return "not known"
	}
	return string(regexp.MustCompile(`\d+ kB`).Find(regexp.MustCompile(`VmRSS:.*`).Find(status))) +
		" (peak " + string(regexp.MustCompile(`\d+ kB`).Find(regexp.MustCompile(`VmHWM:.*`).Find(status))) + ")"
}
