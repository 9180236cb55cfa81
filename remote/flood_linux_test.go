package remote

// Answers on a connection that is full of output.

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// heldLink is a Transport whose connection takes everything from the helper at once, as sockets take megabytes. While
// it is held, the Runner reads nothing of that.
type heldLink struct {
	Transport

	mu      sync.Mutex
	changed sync.Cond
	frames  bool // the bytes are frames
	held    bool
	waiting bytes.Buffer
	err     error // of the helper's side
	rest    []byte
	output  int // bytes of output frames that came while it was held
	replies int // that came while it was held
}

func (l *heldLink) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	far, err := l.Transport.Open(ctx)
	if err != nil {
		return nil, err
	}
	l.changed.L = &l.mu
	c := &heldConn{ReadWriteCloser: far, link: l}
	c.taking.Go(func() {
		for buffer := make([]byte, 64<<10); ; {
			n, err := far.Read(buffer)
			l.mu.Lock()
			l.takeLocked(buffer[:n], err)
			l.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return c, nil
}

// takeLocked takes bytes from the helper and counts the frames.
func (l *heldLink) takeLocked(p []byte, err error) {
	l.waiting.Write(p)
	l.err = err
	l.changed.Broadcast()
	if !l.frames {
		return
	}
	for l.rest = append(l.rest, p...); len(l.rest) >= 5; {
		size := 5 + int(binary.BigEndian.Uint32(l.rest[1:]))
		if len(l.rest) < size {
			return
		}
		switch {
		case !l.held:
		case l.rest[0] == frame.KindOutput:
			l.output += size
		case bytes.Contains(l.rest[:size], []byte(`"reply"`)):
			l.replies++
		}
		l.rest = l.rest[size:]
	}
}

// set changes the state of the link.
func (l *heldLink) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.changed.Broadcast()
}

// heldConn is the connection of a heldLink.
type heldConn struct {
	io.ReadWriteCloser
	link   *heldLink
	taking sync.WaitGroup
}

func (c *heldConn) Read(p []byte) (int, error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil && (l.held || l.waiting.Len() == 0) {
		l.changed.Wait()
	}
	if l.waiting.Len() == 0 {
		return 0, l.err
	}
	return l.waiting.Read(p)
}

func (c *heldConn) Close() error {
	err := c.ReadWriteCloser.Close()
	c.taking.Wait()
	return err
}

// An answer does not wait until the output before it has passed a slow link, because there is little of it: two
// megabytes at most, and less on a slow link (TestAnswersPassFloods in internal/server).
func TestAnswersPassOutput(t *testing.T) {
	const most = 2<<20 + frame.Header + frame.MaxOutput
	far := newFarEnd("sh")
	link := &heldLink{Transport: far}
	m, r := newFarManager(t, far, link)
	require.NoError(t, r.Connect(testContext(t)))
	link.set(func() { link.frames = true })
	flood := create(t, m, "exec yes")
	written := func() bool { return flood.Info().Written > 4<<20 }
	require.Eventually(t, written, time.Minute, time.Millisecond)

	link.set(func() { link.held = true })
	var asking sync.WaitGroup
	output, replies := 0, 0
	for range 500 { // one after the other, so that a helper that goes on with the output has time for it
		asking.Go(func() {
			if _, err := r.RealDir(testContext(t), "/"); err != nil {
				t.Error(err)
			}
		})
		replies++
		link.mu.Lock()
		for link.replies < replies && link.output <= most {
			link.changed.Wait()
		}
		output = link.output
		link.mu.Unlock()
	}
	link.set(func() { link.held = false })
	asking.Wait()
	require.LessOrEqual(t, output, most, "bytes of output before the last answer")
	require.NoError(t, m.Release(testContext(t), "s", flood.ID()))
}
