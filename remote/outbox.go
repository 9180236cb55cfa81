package remote

// The frames that wait to be written to a connection.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

const (
	// maxAdmitted is the number of requests that may wait to be written. Further requests wait for room.
	maxAdmitted = 64
	// maxPosted is the number of frames that may wait to be written. With more, the remote side is considered not to
	// read any more: signals are rare.
	maxPosted = 10_000
	// The bytes read are reported after reportPause, or when there are reportBytes. A report for each frame would take
	// a tenth of the processor time of a fast connection.
	reportPause = time.Millisecond
	reportBytes = 512 << 10
)

// errLost means that the connection was lost.
var errLost = errors.New("the connection was lost")

// outbox holds the frames to write, so that only one goroutine waits for the remote side to read. Its methods may be
// called concurrently.
type outbox struct {
	room   chan struct{} // has an element for each admitted request not yet written
	wake   chan struct{} // has an element if frames are waiting
	report chan struct{} // has an element if bytes were read since the last report

	mu     sync.Mutex
	frames []outgoing
	// Bytes of output frames: those read, if they are not reported yet, and those reported before.
	read, reported uint64
}

// outgoing is a waiting frame.
type outgoing struct {
	bytes    []byte
	admitted bool // its room must be freed
}

func newOutbox() outbox {
	return outbox{
		room: make(chan struct{}, maxAdmitted), wake: make(chan struct{}, 1), report: make(chan struct{}, 1),
	}
}

// takeRoom waits for room. It fails when ctx is done, and with errLost when lost is closed.
func takeRoom(ctx context.Context, room chan<- struct{}, lost <-chan struct{}) error {
	select {
	case room <- struct{}{}:
		return nil
	case <-lost:
		return errLost
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// add queues a message. A request that starts, looks up, resolves, lists or has input must have taken room.
func (o *outbox) add(request *frame.Request) (err error) {
	admitted := request.Start != nil || request.Look != nil || request.RealDir != nil || request.Input != nil ||
		request.List != nil
	defer func() {
		if err != nil && admitted {
			<-o.room
		}
	}()
	var text bytes.Buffer
	if err := frame.NewWriter(&text).Message(request); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.frames) >= maxPosted {
		return fmt.Errorf("the remote system does not read: %d messages wait", len(o.frames))
	}
	o.frames = append(o.frames, outgoing{bytes: text.Bytes(), admitted: admitted})
	tell(o.wake)
	return nil
}

// hasRead reports the number of bytes read so far, soon.
func (o *outbox) hasRead(bytes uint64) {
	o.mu.Lock()
	first := o.read == 0
	o.read = bytes
	many := bytes-o.reported >= reportBytes
	o.mu.Unlock()
	switch {
	case many:
		tell(o.wake)
	case first:
		tell(o.report)
	}
}

// tell puts an element into an empty channel.
func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write writes the queued frames until lost is closed.
func (o *outbox) write(to io.Writer, lost <-chan struct{}) error {
	pause := time.NewTimer(reportPause)
	defer pause.Stop()
	for {
		select {
		case <-lost:
			return nil
		case <-o.report:
			pause.Reset(reportPause)
			continue
		case <-pause.C:
		case <-o.wake:
		}
		o.mu.Lock()
		frames, read := o.frames, o.read
		o.frames, o.read = nil, 0
		if read != 0 {
			o.reported = read
		}
		o.mu.Unlock()
		if read != 0 { // if it fails, the reading goroutine knows the reason, or the next frame fails
			_ = frame.NewWriter(to).Message(&frame.Request{Read: read})
		}
		for _, f := range frames {
			if _, err := to.Write(f.bytes); err != nil {
				return err
			}
			if f.admitted {
				<-o.room
			}
		}
	}
}
