package server

// The sender on simulated links. The clock of a synctest bubble makes the times exact.

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// link is a simulated connection from a sender to a Runner. Like a socket, it takes megabytes at once, and lets them
// pass at its rate.
type link struct {
	rate float64 // bytes per second

	mu     sync.Mutex
	delay  time.Duration // in each direction
	more   sync.Cond
	pieces []piece
	idle   time.Time // when the last piece has passed
	held   int
	closed bool
}

type piece struct {
	bytes []byte
	at    time.Time // when it arrives
}

// capacity is the number of bytes that the link takes.
const capacity = 8 << 20

func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held > capacity && !l.closed {
		l.more.Wait()
	}
	if l.closed {
		return 0, io.ErrClosedPipe
	}
	if now := time.Now(); l.idle.Before(now) {
		l.idle = now
	}
	l.idle = l.idle.Add(time.Duration(float64(len(p)) / l.rate * float64(time.Second)))
	l.pieces = append(l.pieces, piece{slices.Clone(p), l.idle.Add(l.delay)})
	l.held += len(p)
	l.more.Broadcast()
	return len(p), nil
}

func (l *link) Read(p []byte) (int, error) {
	l.mu.Lock()
	for len(l.pieces) == 0 && !l.closed {
		l.more.Wait()
	}
	if l.closed {
		l.mu.Unlock()
		return 0, io.EOF
	}
	at := l.pieces[0].at
	l.mu.Unlock()
	time.Sleep(time.Until(at))
	l.mu.Lock()
	defer l.mu.Unlock()
	next := &l.pieces[0]
	n := copy(p, next.bytes)
	if next.bytes = next.bytes[n:]; len(next.bytes) == 0 {
		l.pieces = l.pieces[1:]
	}
	l.held -= n
	l.more.Broadcast()
	return n, nil
}

func (l *link) setDelay(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

func (l *link) getDelay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.more.Broadcast()
}

// runner reads frames, reports the output as read, and passes both on.
type runner struct {
	*sender
	link    *link
	outputs chan frame.Output
	replies chan *frame.Reply
	ended   sync.WaitGroup
	end     func()
}

// newRunner connects a sender and a Runner by a link. In a synctest bubble, it must be closed.
func newRunner(t *testing.T, l *link) *runner {
	l.more.L = &l.mu
	over := make(chan struct{})
	r := &runner{
		sender: newSender(over), link: l, outputs: make(chan frame.Output), replies: make(chan *frame.Reply, 1),
	}
	r.end = sync.OnceFunc(func() {
		close(over)
		l.close()
		r.ended.Wait()
	})
	r.ended.Go(func() { _ = r.run(l, &frame.Hello{}) })
	r.ended.Go(func() {
		frames := frame.NewReader(bufio.NewReader(l), frame.MaxHello)
		for read := uint64(0); ; {
			var a frame.Answer
			o, err := frames.Read(&a)
			switch {
			case err != nil:
				return
			case o != nil:
				read += uint64(frame.Header + len(o.Bytes))
				report := read
				time.AfterFunc(l.getDelay(), func() {
					if err := r.hasRead(report); err != nil {
						t.Error(err)
					}
				})
				select {
				case r.outputs <- *o:
				case <-over:
				}
			case a.Reply != nil:
				r.replies <- a.Reply
			}
		}
	})
	return r
}

// flood sends output of a process without end, in pieces of the size that the sender asks for.
func (r *runner) flood(process uint64) {
	r.ended.Go(func() {
		free := make(chan []byte, 1)
		for offset := int64(0); ; {
			n := r.window.most()
			r.sender.output(output{process: process, offset: offset, buffer: make([]byte, frame.Header+n), free: free})
			offset += int64(n)
			select {
			case <-free:
			case <-r.over:
				return
			}
		}
	})
}

// discard reads the outputs for some time and returns their bytes.
func (r *runner) discard(during time.Duration) (bytes int) {
	for end := time.After(during); ; {
		select {
		case o := <-r.outputs:
			bytes += len(o.Bytes)
		case <-end:
			return bytes
		}
	}
}

// answerTakes returns the time that an answer takes to arrive.
func (r *runner) answerTakes() time.Duration {
	began := time.Now()
	go r.message(frame.Answer{Reply: &frame.Reply{ID: 1}})
	for len(r.replies) == 0 {
		r.discard(time.Millisecond)
	}
	<-r.replies
	took := time.Since(began)
	r.discard(73 * time.Millisecond) // the next answer meets the window in another state
	return took
}

// However slow the link, an answer waits for little output, and a flood uses the link.
func TestAnswersPassFloods(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		delay time.Duration
	}{
		{30e3, 50 * time.Millisecond},
		{250e3, time.Millisecond},
		{250e3, 300 * time.Millisecond},
		{1e6, time.Millisecond},
		{1e6, 20 * time.Millisecond},
		{10e6, 20 * time.Millisecond},
		{100e6, 100 * time.Microsecond},
	} {
		t.Run(fmt.Sprintf("%v kB per s, %v", c.rate/1e3, c.delay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRunner(t, &link{rate: c.rate, delay: c.delay})
				defer r.end()
				r.sender.output(output{process: 1, buffer: make([]byte, frame.Header+10)}) // commands begin with little
				r.flood(1)
				during := time.Duration(min(20, 50e6/c.rate) * float64(time.Second))
				r.discard(during)
				used := float64(r.discard(during)) / during.Seconds() / c.rate
				require.Greater(t, used, 0.9, "of the link")

				least := time.Duration(float64(minWindow) / c.rate * float64(time.Second))
				for range 10 {
					require.Less(t, r.answerTakes()-c.delay, 2*maxQueued+2*least, "the answer waits for output")
				}
			})
		})
	}
}

// A flood uses a link again after its delay has grown for good, and an answer still waits for little output.
func TestDelayGrows(t *testing.T) {
	const rate = 1e6
	for _, delays := range [][2]time.Duration{
		{15 * time.Millisecond, 90 * time.Millisecond},
		{time.Millisecond, 300 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(delays), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &link{rate: rate, delay: delays[0]}
				r := newRunner(t, l)
				defer r.end()
				r.flood(1)
				r.discard(20 * time.Second)
				l.setDelay(delays[1])
				r.discard(20 * time.Second)
				used := float64(r.discard(20*time.Second)) / 20 / rate
				require.Greater(t, used, 0.9, "of the link")
				for range 10 {
					require.Less(t, r.answerTakes()-delays[1], 2*maxQueued, "the answer waits for output")
				}
			})
		})
	}
}

// While nothing is read, no more output is sent than the largest window and a frame. Answers still pass.
func TestWindowIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, &link{rate: 1e9, delay: 10 * time.Millisecond})
		defer r.end()
		r.flood(1)
		r.flood(2)
		r.discard(time.Second)
		time.Sleep(time.Second) // until the last report arrives
		r.link.mu.Lock()
		held := r.link.held
		r.link.mu.Unlock()
		require.Greater(t, held, maxWindow/2, "the link is fast")
		require.LessOrEqual(t, held, maxWindow+frame.Header+frame.MaxOutput)
	})
}

// Processes take turns. One that writes little waits for one frame of each other process.
func TestProcessesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t, &link{rate: 1e6, delay: time.Millisecond})
		defer r.end()
		for process := range uint64(4) {
			r.flood(process)
		}
		r.discard(5 * time.Second)
		for range 100 {
			var turn []uint64
			for range 4 {
				turn = append(turn, (<-r.outputs).Process)
				synctest.Wait() // all processes wait again
			}
			slices.Sort(turn)
			require.Equal(t, []uint64{0, 1, 2, 3}, turn)
		}
	})
}

// Reports of bytes that were not sent, or that were reported before, end the connection.
func TestFalseReports(t *testing.T) {
	var w window
	w.add(100, time.Now())
	require.NoError(t, w.remove(60, time.Now()))
	require.ErrorContains(t, w.remove(59, time.Now()), "malformed request")
	require.ErrorContains(t, w.remove(101, time.Now()), "malformed request")
	require.ErrorContains(t, w.remove(1<<63, time.Now()), "malformed request")
	require.NoError(t, w.remove(100, time.Now()))
}
