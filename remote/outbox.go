package remote

// What is to be written to a connection.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

const (
	// maxAdmitted is how many requests wait to be written until further ones wait for room.
	maxAdmitted = 64
	// maxPosted is how many frames wait to be written until the far end counts as one that reads nothing any more:
	// signals are not many.
	maxPosted = 10_000
)

// errLost means that the connection was lost.
var errLost = errors.New("the connection was lost")

// outbox has the frames that are to be written, so that only one goroutine waits for the far end to read. Its methods
// may be called concurrently.
type outbox struct {
	room chan struct{} // has an element for each request that was admitted and is not written
	wake chan struct{} // has an element if frames wait

	mu     sync.Mutex
	frames []outgoing
}

// outgoing is a frame that waits.
type outgoing struct {
	bytes    []byte
	admitted bool // it has room to give back
}

func newOutbox() outbox {
	return outbox{room: make(chan struct{}, maxAdmitted), wake: make(chan struct{}, 1)}
}

// takeRoom waits for room. It fails when ctx ends, and with errLost when lost is closed.
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

// add adds a frame with a message. A request that starts, looks up or resolves must have taken room.
func (o *outbox) add(request *frame.Request) (err error) {
	admitted := request.Start != nil || request.Look != nil || request.RealDir != nil
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
		return fmt.Errorf("the far end does not read: %d messages wait", len(o.frames))
	}
	o.frames = append(o.frames, outgoing{bytes: text.Bytes(), admitted: admitted})
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// write writes what is added, until lost is closed.
func (o *outbox) write(to io.Writer, lost <-chan struct{}) error {
	for {
		select {
		case <-lost:
			return nil
		case <-o.wake:
		}
		o.mu.Lock()
		frames := o.frames
		o.frames = nil
		o.mu.Unlock()
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
