package proc

// What kqueue does not tell of an exit, on macOS.

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noteExitStatus makes kqueue's exit event carry the wait status; macOS must be asked for it, and gives it of children
// (XNU filt_procattach).
const noteExitStatus = unix.NOTE_EXITSTATUS

// seesEarlyExits is that awaitEarly can do it.
const seesEarlyExits = true

// zombie is the state of a zombie in the process table (SZOMB in sys/proc.h).
const zombie = 5

// awaitEarly returns how a child ended that kqueue would not watch because it was exiting, when it is a zombie, and
// leaves it that.
//
// waitid waits for it; the status comes from the process table, which has that of a zombie just as wait4 would give
// it. (Go's os package gave waitid up on macOS since it returned for stopped children too, Go issue 19314. A child
// that is exiting stops no more, and the loop would not mind.)
func awaitEarly(pid int) (syscall.WaitStatus, error) {
	const pPID = 1      // P_PID in sys/wait.h
	var info [16]uint64 // siginfo_t, of 104 bytes
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOWAIT, 0, 0)
		if errno != 0 && errno != unix.EINTR {
			return 0, os.NewSyscallError("waitid", errno)
		}
		kinfo, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil {
			return 0, os.NewSyscallError("sysctl kern.proc.pid", err)
		}
		if kinfo.Proc.P_stat == zombie {
			return syscall.WaitStatus(kinfo.Proc.P_xstat), nil
		}
	}
}
