package acpterm

// Limits on Windows: the job's, so that all hold for the whole tree together, but for the priority, which is that of
// each process. Only what a job can bound can be had.

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

// jobInfo is what a job is told.
type jobInfo = windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION

// jobLimits are how a job bounds what Limits has a field for. CPUTime counts in 100 nanoseconds, and without the time
// in the kernel.
var jobLimits = map[string]struct {
	flag uint32
	set  func(info *jobInfo, value uint64)
	by   string
	tree bool
}{
	"CPUTime": {windows.JOB_OBJECT_LIMIT_JOB_TIME, func(info *jobInfo, value uint64) {
		info.BasicLimitInformation.PerJobUserTimeLimit = int64(value) * 1e7
	}, "job object", true},
	"Memory": {windows.JOB_OBJECT_LIMIT_JOB_MEMORY, func(info *jobInfo, value uint64) {
		info.JobMemoryLimit = uintptr(min(value, uint64(^uintptr(0))))
	}, "job object", true},
	"Processes": {windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS, func(info *jobInfo, value uint64) {
		info.BasicLimitInformation.ActiveProcessLimit = uint32(min(value, 1<<32-1))
	}, "job object", true},
	"Nice": {windows.JOB_OBJECT_LIMIT_PRIORITY_CLASS, func(info *jobInfo, value uint64) {
		info.BasicLimitInformation.PriorityClass = priorityClass(value)
	}, "priority", false},
}

// priorityClass is what a niceness is here.
func priorityClass(nice uint64) uint32 {
	if nice < 10 {
		return windows.BELOW_NORMAL_PRIORITY_CLASS
	}
	return windows.IDLE_PRIORITY_CLASS
}

// jobInfoFor is what a job is told that has these limits, and ends its processes when its last handle is closed.
func jobInfoFor(limits Limits) (info *jobInfo, enforced []EnforcedLimit, err error) {
	info = new(jobInfo)
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	asked, err := limits.asked()
	if err != nil {
		return nil, nil, err
	}
	for _, limit := range asked {
		job, ok := jobLimits[limit.Name]
		if !ok {
			return nil, nil, limitError(limit.Name, "cannot be enforced on Windows", nil)
		}
		job.set(info, limit.Value)
		info.BasicLimitInformation.LimitFlags |= job.flag
		limit.By, limit.Tree = job.by, job.tree
		enforced = append(enforced, limit)
	}
	return info, enforced, nil
}

// limitJob tells the job.
func limitJob(job windows.Handle, info *jobInfo) error {
	var pin runtime.Pinner // as a number, the pointer would hold nothing in its place
	pin.Pin(info)
	defer pin.Unpin()
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(info)), uint32(unsafe.Sizeof(*info)))
	return err
}
