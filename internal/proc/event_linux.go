package proc

// This file wakes a starter's thread.

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// event wakes a goroutine locked to its thread. The thread waits in the kernel: Go's scheduler would first wake another
// thread, which then wakes this one, and a start would be 20 to 30 µs later. The zero value is not set. Only one
// goroutine at a time may call wait; set may be called concurrently with all methods.
type event struct{ isSet atomic.Uint32 }

// set ends the current or the next wait.
func (e *event) set() {
	e.isSet.Store(1)
	e.futex(futexWake, 1)
}

// wait waits for set. It may return earlier.
func (e *event) wait() {
	if e.isSet.Swap(0) == 0 {
		e.futex(futexWait, 0)
		e.isSet.Store(0)
	}
}

// Operations on a futex that no other process uses (man 2 futex). x/sys has no names for them.
const (
	futexWait = 0 | 128 // FUTEX_WAIT_PRIVATE: wait if the futex has the given value
	futexWake = 1 | 128 // FUTEX_WAKE_PRIVATE: wake the given number of threads
)

func (e *event) futex(operation, value uintptr) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&e.isSet)), operation, value, 0, 0, 0)
}
