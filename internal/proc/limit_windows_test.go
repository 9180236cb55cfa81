package proc

// These tests check a job's limits, and their enforcement. Wine 8 accepts a job's limits, but neither stores nor
// enforces them, except that the job's processes end with its last handle.

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/acpterm/acpterm/internal/wintest"
)

// infoOf returns a job's limits.
func infoOf(t *testing.T, job windows.Handle) (info jobInfo) {
	t.Helper()
	var pin runtime.Pinner
	pin.Pin(&info)
	defer pin.Unpin()
	require.NoError(t, windows.QueryInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil))
	return info
}

func TestTheJobHasTheLimits(t *testing.T) {
	limits := []Limit{
		{Name: "CPUTime", Value: 2}, {Name: "Memory", Value: 1 << 30}, {Name: "Processes", Value: 7},
		{Name: "Nice", Value: 5},
	}
	info, enforced, err := jobInfoFor(limits)
	require.NoError(t, err)
	require.EqualValues(t, 2e7, info.BasicLimitInformation.PerJobUserTimeLimit)
	require.EqualValues(t, 1<<30, info.JobMemoryLimit)
	require.EqualValues(t, 7, info.BasicLimitInformation.ActiveProcessLimit)
	require.EqualValues(t, windows.BELOW_NORMAL_PRIORITY_CLASS, info.BasicLimitInformation.PriorityClass)
	require.EqualValues(t, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE|windows.JOB_OBJECT_LIMIT_JOB_TIME|
		windows.JOB_OBJECT_LIMIT_JOB_MEMORY|windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS|
		windows.JOB_OBJECT_LIMIT_PRIORITY_CLASS,
		info.BasicLimitInformation.LimitFlags)

	require.EqualValues(t, windows.IDLE_PRIORITY_CLASS, priorityClass(10))

	warmUp(t)
	spec := sleeper(t)
	spec.Limits = limits
	s := start(t, spec)
	require.Equal(t, enforced, s.Limits())
	told := infoOf(t, s.job).BasicLimitInformation
	if !wintest.UnderWine() {
		require.Equal(t, info.BasicLimitInformation.LimitFlags, told.LimitFlags)
		require.Equal(t, info.BasicLimitInformation.ActiveProcessLimit, told.ActiveProcessLimit)
	}
}

// Windows ends a spinning command once it has used up its CPU time.
func TestCPUTimeOfAJob(t *testing.T) {
	if wintest.UnderWine() {
		t.Skip("Wine counts no time of a job")
	}
	warmUp(t)
	spec := shellLine(t, "for /l %i in (0,0,1) do @rem")
	spec.Limits = []Limit{{Name: "CPUTime", Value: 1}}
	s := start(t, spec)
	e := <-s.exits
	require.NoError(t, e.err)
	require.NotZero(t, e.exit.Code)
}
