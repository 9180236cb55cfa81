package acpterm

// When a command's output is read by whom.

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// quietPipe is a source that nobody watches, and the writing end of its pipe.
func quietPipe(t *testing.T) (*quiet, descriptor) {
	end, w, err := outputPipe()
	require.NoError(t, err)
	q := &quiet{pipe: end, ring: newRingBuffer(1 << 20), hot: new(hotPipes), loop: new(loop), busy: new(sync.WaitGroup)}
	q.busy.Add(1)
	t.Cleanup(func() {
		w.Close()
		q.stop()
		q.busy.Wait()
		q.loop.close()
	})
	return q, w
}

func (q *quiet) text() string {
	text, _ := q.ring.last(1 << 20)
	return text
}

// Whoever has to know that all was read reads it, and need not wait for the thread that watches.
func TestWhatLiesInAQuietPipeIsDrained(t *testing.T) {
	q, w := quietPipe(t)
	unix.Write(int(w), []byte("one "))
	drained := false
	q.drain(func() { drained = true })
	require.True(t, drained)
	require.Equal(t, "one ", q.text())
	unix.Write(int(w), []byte("two"))
	q.stop()
	require.Equal(t, "one two", q.text())
	require.True(t, q.over())
}

func (q *quiet) isMuch() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.much
}

// One who wrote much, little at a time, and pauses is read where it is seen again; and with naps when it goes on.
func TestWhoPausesIsQuietAgain(t *testing.T) {
	q, w := quietPipe(t)
	for range 3 {
		unix.Write(int(w), []byte("little\n"))
		q.unlessCaptured(func() { q.muchLocked(often) })
		for q.isMuch() {
			runtime.Gosched()
		}
		require.Nil(t, q.capture)
		require.Zero(t, q.hot.napping.Load())
		at := q.ring.total()
		unix.Write(int(w), []byte("more"))
		for q.ring.total() < at+4 { // nobody else reads
			runtime.Gosched()
		}
	}
}

// What comes late, and so at once, may have been written little at a time: it is not taken for what needs Go's poller, the
// first time.
func TestALargePieceIsNotHeldAgainstTheCommand(t *testing.T) {
	q, w := quietPipe(t)
	large := []byte(strings.Repeat("little\n", 5000))
	unix.Write(int(w), large)
	q.read()
	for q.isMuch() {
		runtime.Gosched()
	}
	require.Nil(t, q.capture)
	require.Equal(t, int64(len(large)), q.ring.total())
	unix.Write(int(w), large)
	q.read()
	for q.unlessCaptured(func() {}) == nil {
		runtime.Gosched()
	}
}

// One who writes more than a little at once, or often, does not keep that thread from the others.
func TestWhoWritesMuchGetsAGoroutine(t *testing.T) {
	for name, pieces := range map[string][]string{
		"at once": {strings.Repeat("x", 60<<10)},
		"often":   strings.SplitAfter(strings.Repeat("x\n", 2*quietPieces), "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			q, w := quietPipe(t)
			much := false
			for i := 0; i < len(pieces) && !much; i++ {
				unix.Write(int(w), []byte(pieces[i]))
				q.unlessCaptured(func() {
					q.readLocked()
					much = q.much // which may be over soon
				})
			}
			require.True(t, much)
			unix.Write(int(w), []byte("the end"))
			q.stop()
			require.True(t, strings.HasSuffix(q.text(), "the end"))
		})
	}
}
