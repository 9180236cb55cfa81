package acpterm

// Limits on Windows: what the job is told, and what it then holds the tree to. Wine 8 takes the limits of a job
// and neither keeps them nor holds anybody to them, but for the end with the last handle.

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// toldOf is what a job has been told.
func toldOf(t *testing.T, job windows.Handle) (info jobInfo) {
	var pin runtime.Pinner
	pin.Pin(&info)
	defer pin.Unpin()
	require.NoError(t, windows.QueryInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil))
	return info
}

func TestTheJobHasTheLimits(t *testing.T) {
	limits := Limits{CPUTime: 1500 * time.Millisecond, Memory: 1 << 30, Processes: 7, Nice: 5}
	info, enforced, err := jobInfoFor(limits)
	require.NoError(t, err)
	require.Equal(t, []EnforcedLimit{
		{Name: "CPUTime", Value: 2, By: "job object", Tree: true},
		{Name: "Memory", Value: 1 << 30, By: "job object", Tree: true},
		{Name: "Processes", Value: 7, By: "job object", Tree: true},
		{Name: "Nice", Value: 5, By: "priority"},
	}, enforced)
	require.EqualValues(t, 2e7, info.BasicLimitInformation.PerJobUserTimeLimit)
	require.EqualValues(t, 1<<30, info.JobMemoryLimit)
	require.EqualValues(t, 7, info.BasicLimitInformation.ActiveProcessLimit)
	require.EqualValues(t, windows.BELOW_NORMAL_PRIORITY_CLASS, info.BasicLimitInformation.PriorityClass)
	require.EqualValues(t, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE|windows.JOB_OBJECT_LIMIT_JOB_TIME|
		windows.JOB_OBJECT_LIMIT_JOB_MEMORY|windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS|windows.JOB_OBJECT_LIMIT_PRIORITY_CLASS,
		info.BasicLimitInformation.LimitFlags)

	g, err := startGroup(sleeper(t), groupOptions{limits: limits})
	require.NoError(t, err)
	defer g.output.Close()
	require.Equal(t, enforced, g.enforced)
	told := toldOf(t, g.job).BasicLimitInformation
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() != nil {
		require.Equal(t, info.BasicLimitInformation.LimitFlags, told.LimitFlags)
		require.Equal(t, info.BasicLimitInformation.ActiveProcessLimit, told.ActiveProcessLimit)
	}
	g.close()
	g.awaitExit()
}

func TestAJobWithoutLimitsEndsWithItsHandle(t *testing.T) {
	info, enforced, err := jobInfoFor(Limits{})
	require.NoError(t, err)
	require.Empty(t, enforced)
	require.EqualValues(t, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, info.BasicLimitInformation.LimitFlags)
	require.EqualValues(t, windows.IDLE_PRIORITY_CLASS, priorityClass(10))
}

func TestLimitsThatNoJobHas(t *testing.T) {
	for field, limits := range map[string]Limits{"OpenFiles": {OpenFiles: 5}, "FileSize": {FileSize: 5}} {
		_, err := startGroup(sleeper(t), groupOptions{limits: limits})
		require.ErrorIs(t, err, ErrInternal)
		require.EqualError(t, err, "acpterm: Limits."+field+": cannot be enforced on Windows")
	}
}

// A spinning command is ended by its time, where it is Windows that counts it.
func TestCPUTimeOfAJob(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("Wine counts no time of a job")
	}
	g, err := startGroup(shellLine(t, "for /l %i in (0,0,1) do @rem"), groupOptions{limits: Limits{CPUTime: time.Second}})
	require.NoError(t, err)
	defer g.output.Close()
	e, err := g.awaitExit()
	require.NoError(t, err)
	require.NotZero(t, e.code)
	g.close()
}
