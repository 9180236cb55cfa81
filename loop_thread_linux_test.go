package acpterm_test

// Commands and the threads of their host.

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A command ends with its host (PR_SET_PDEATHSIG), and not with the thread that asked for it: Go ends that of a goroutine
// which locked itself to it and returns.
func TestACommandOutlivesTheThreadThatCreatedIt(t *testing.T) {
	m := newManager(t, nil)
	created, threads := make(chan *acpterm.Terminal, 1), make(chan int, 1)
	var err error
	var onThreadThatEnds func()
	onThreadThatEnds = func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the first thread, which Go does not end
			defer runtime.UnlockOSThread()
			other := make(chan struct{})
			go func() { defer close(other); onThreadThatEnds() }()
			<-other
			return
		}
		threads <- unix.Gettid()
		var term *acpterm.Terminal
		term, err = m.Create(t.Context(), childRequest("polite"))
		created <- term
	}
	go onThreadThatEnds()
	term := <-created
	require.NoError(t, err)
	awaitOutput(t, term, "ready")
	thread := fmt.Sprintf("/proc/self/task/%d", <-threads)
	require.Eventually(t, func() bool { _, err := os.Stat(thread); return os.IsNotExist(err) }, 10*time.Second, time.Millisecond)
	require.NoError(t, term.Kill(t.Context()))
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "exit code 7", status.String(), "it was not killed before")
}
