package remote

// Connections that hang while they are made. The clock of a synctest bubble makes the times exact.

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// inTurn is a connection whose CloseWrite waits for a Write that hangs, and then until the connection is closed.
type inTurn struct {
	io.ReadWriteCloser
	turn   chan struct{} // has an element during a Write or a CloseWrite
	closed chan struct{}
	ends   *atomic.Int32 // the calls of CloseWrite
}

func (c *inTurn) Write(p []byte) (int, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	return c.ReadWriteCloser.Write(p)
}

func (c *inTurn) CloseWrite() error {
	c.ends.Add(1)
	select {
	case c.turn <- struct{}{}:
		<-c.closed
	case <-c.closed:
	}
	return nil
}

func (c *inTurn) Close() error {
	close(c.closed)
	return c.ReadWriteCloser.Close()
}

// Wherever a connection hangs, Connect returns after ConnectTimeout. The input ends only if nothing is being written
// and nothing has answered.
func TestConnectionHangs(t *testing.T) {
	for name, c := range map[string]struct {
		far  func(*far)
		ends int32
		took time.Duration
	}{
		"in the line":      {func(*far) {}, 0, 10 * time.Second},
		"after the line":   {func(f *far) { f.marker() }, 1, 10*time.Second + lastWords},
		"after the shell":  {func(f *far) { f.write(f.marker() + "shell /bin/sh\n") }, 0, 10 * time.Second},
		"before the hello": {func(f *far) { f.write(f.marker() + "run\n") }, 0, 10 * time.Second},
		"while being copied": {func(f *far) {
			marker := f.marker()
			f.write(marker + "shell /bin/sh\n" + marker + "need Linux x86_64\n")
		}, 0, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, fars := farTransport(t)
				var ends atomic.Int32
				r, err := NewRunner(Options{
					ConnectTimeout: 10 * time.Second, Helpers: fstest.MapFS{helperName + "-linux-amd64": {Data: []byte("x")}},
					Transport: openFunc(func(ctx context.Context) (io.ReadWriteCloser, error) {
						shell, err := inner.Open(ctx)
						go c.far(<-fars)
						return &inTurn{shell, make(chan struct{}, 1), make(chan struct{}), &ends}, err
					}),
				})
				require.NoError(t, err)
				defer r.Close()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				require.ErrorContains(t, r.Connect(ctx), "no connection within Options.ConnectTimeout, 10s")
				require.Equal(t, c.took, time.Since(began))
				require.Equal(t, c.ends, ends.Load(), "calls of CloseWrite")
			})
		})
	}
}
