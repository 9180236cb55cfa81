package linuxtest

// Processes that SIGKILL does not end at once.

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// HoldExit makes a process stay while it exits, as one does that waits for a disk, until release is called or the test
// ends. It skips the test if the process cannot be traced.
func HoldExit(t testing.TB, pid int) (release func()) {
	t.Helper()
	if Before(6, 1) {
		t.Skip("before, another SIGKILL ended a process held by a tracer")
	}
	traced, released, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the thread is the tracer, and ends with the goroutine
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, unix.PTRACE_O_TRACEEXIT, 0, 0)
		if errno != 0 {
			traced <- errno
			return
		}
		close(traced)
		<-released
		unix.PtraceDetach(pid)
	}()
	if err := <-traced; err != nil {
		t.Skip("no process can be traced here: ", err)
	}
	release = sync.OnceFunc(func() { close(released); <-ended })
	t.Cleanup(release)
	return release
}

// Before reports whether the kernel is older than a version.
func Before(major, minor int) bool {
	var thisMajor, thisMinor int
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	fmt.Sscanf(string(release), "%d.%d", &thisMajor, &thisMinor)
	return thisMajor < major || thisMajor == major && thisMinor < minor
}
