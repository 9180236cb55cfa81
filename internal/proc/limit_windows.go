package proc

// This file enforces limits with a job object, on Windows.

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

type jobInfo = windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION

// jobLimits maps limit names to a job's limits. All of them bound the whole tree together, except the priority, which
// belongs to each process. The system counts CPUTime in units of 100 nanoseconds, without the time in the kernel.
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

// priorityClass returns the priority class for a niceness of 1 to 19.
func priorityClass(nice uint64) uint32 {
	if nice < 10 {
		return windows.BELOW_NORMAL_PRIORITY_CLASS
	}
	return windows.IDLE_PRIORITY_CLASS
}

// jobInfoFor returns a job's settings: these limits, and the rule that the system ends the job's processes when the
// job's last handle is closed. It returns a *LimitError for a limit that a job cannot enforce.
func jobInfoFor(limits []Limit) (info *jobInfo, enforced []Limit, err error) {
	info = new(jobInfo)
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	for _, limit := range limits {
		job, ok := jobLimits[limit.Name]
		if !ok {
			return nil, nil, &LimitError{limit.Name, "cannot be enforced on Windows", errors.ErrUnsupported}
		}
		job.set(info, limit.Value)
		info.BasicLimitInformation.LimitFlags |= job.flag
		limit.By, limit.Tree = job.by, job.tree
		enforced = append(enforced, limit)
	}
	return info, enforced, nil
}

func limitJob(job windows.Handle, info *jobInfo) error {
	var pin runtime.Pinner // x/sys takes the pointer as a number, which does not pin info
	pin.Pin(info)
	defer pin.Unpin()
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(info)), uint32(unsafe.Sizeof(*info)))
	return err
}
