package proc

// This file reports exits that kqueue misses on macOS.

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noteExitStatus makes the exit event carry the wait status, on macOS and only for children (XNU filt_procattach).
const noteExitStatus = unix.NOTE_EXITSTATUS

// seesEarlyExits reports whether awaitEarly is supported.
const seesEarlyExits = true

// zombie is the state of a zombie in the process table (SZOMB in sys/proc.h).
const zombie = 5

// awaitEarly waits until a child is a zombie and returns its wait status, without reaping it. Use it for a child that
// kqueue did not watch because the child was already exiting.
//
// waitid does the waiting. The status comes from the process table, which has the same status of a zombie as wait4.
// (Go's os package stopped using waitid on macOS because it also returned for stopped children; see Go issue 19314. An
// exiting child cannot stop, and the loop would ignore it.)
func awaitEarly(pid int) (syscall.WaitStatus, error) {
	const pPID = 1      // P_PID in sys/wait.h
	var info [16]uint64 // siginfo_t has 104 bytes
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
