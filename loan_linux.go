package acpterm

// A child's use of its host's memory, between its fork and its program.

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loan is over when the child has memory of its own, because it has become its program, or has exited. The kernel says so by
// zeroing a word, and wakes who waits for that (man 2 set_tid_address). Its methods may be called concurrently.
type loan struct{ word atomic.Uint32 }

// begin is called before the fork, which is told the address of the word.
func (l *loan) begin() { l.word.Store(1) }

func (l *loan) over() bool { return l.word.Load() == 0 }

// await returns when the loan is over, or after some time; 0: however long it takes.
func (l *loan) await(atMost time.Duration) {
	var timeout *unix.Timespec
	if atMost > 0 {
		timeout = new(unix.NsecToTimespec(int64(atMost)))
	}
	for !l.over() {
		const wait = 0 // FUTEX_WAIT (man 2 futex), which returns at once if the word is not 1, and now and then for no reason
		_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.word)), wait, 1, uintptr(unsafe.Pointer(timeout)), 0, 0)
		if errno == unix.ETIMEDOUT {
			return
		}
	}
}
