package screen_test

// The processor time per byte. Unlike elapsed time, it does not depend on other processes.

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm/internal/screen"
)

// cost returns the processor time of this thread for writing p to a new screen. Nothing scrolls off.
func cost(t *testing.T, p []byte) time.Duration {
	var began, ended unix.Timespec
	s := screen.New(1000, 1000, 1<<20, 0)
	require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &began))
	s.Write(p)
	require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ended))
	return time.Duration(ended.Nano() - began.Nano())
}

// The cost of an unfinished sequence is proportional to its length: sixteen times the length must cost far less than
// 256 times as much.
func TestUnfinishedSequencesCostNoMoreByTheByte(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, begin := range []string{"\x1b[", "\x1b[?", "\x1b(", "\x1b", "\x1b]0;", "\x1bP", ""} {
		for _, next := range []string{"1", ";", "(", "x"} {
			few, many := time.Hour, time.Hour
			for range 5 { // use the minimum: other runs include page faults
				few = min(few, cost(t, []byte(begin+strings.Repeat(next, 2<<10))))
				many = min(many, cost(t, []byte(begin+strings.Repeat(next, 32<<10))))
			}
			require.Less(t, many, 64*few, "%q, then %q", begin, next)
		}
	}
}
