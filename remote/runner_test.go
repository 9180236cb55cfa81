package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// NewRunner rejects unusable options by name.
func TestOptions(t *testing.T) {
	good := Command{Args: []string{"sh"}}
	for option, options := range map[string]Options{
		"Transport":      {},
		"Path":           {Transport: good, Path: "bin/helper"},
		"Dir":            {Transport: good, Helpers: fstest.MapFS{}, Dir: "cache"},
		"Helpers":        {Transport: good, Helpers: fstest.MapFS{}, Path: "/helper"},
		"ConnectTimeout": {Transport: good, ConnectTimeout: -1},
		"SilenceTimeout": {Transport: good, SilenceTimeout: -1},
	} {
		_, err := NewRunner(options)
		require.ErrorContains(t, err, "Options."+option+" ")
	}
	_, err := NewRunner(Options{Transport: good, Dir: "/cache"})
	require.ErrorContains(t, err, "Options.Dir needs Helpers")
	_, err = NewRunner(Options{Transport: good, Path: "/a\x00"})
	require.ErrorContains(t, err, "Options.Path ")
}

// All calls share one connection. The end of a caller's context ends only that caller's wait.
func TestOneConnection(t *testing.T) {
	transport, fars := farTransport(t)
	var steps []Step
	r := newRunner(t, Options{Transport: transport, Progress: func(p Progress) { steps = append(steps, p.Step) }})
	short, cancel := context.WithCancelCause(t.Context())
	impatient := make(chan error)
	go func() { impatient <- r.Connect(short) }()
	f := <-fars
	cancel(errors.New("no time"))
	require.EqualError(t, <-impatient, "no time")

	const n = 20
	envs := make(chan []string, n)
	for range n {
		go func() {
			dir, env, err := r.Base(testContext(t))
			if dir != "/home" || err != nil {
				t.Error(dir, err)
			}
			envs <- env
		}()
	}
	go f.serve(nil)
	for range n {
		require.Equal(t, []string{"PATH=/bin", "X=\xff"}, <-envs)
	}
	require.Empty(t, fars)

	require.NoError(t, r.Close())
	require.Equal(t, []Step{StepConnecting, StepConnected, StepLost}, steps)
	require.ErrorIs(t, r.Connect(t.Context()), acpterm.ErrClosing)
	require.NoError(t, r.Close())
}

// Close ends connecting, and the waits of the callers.
func TestCloseWhileConnecting(t *testing.T) {
	transport, fars := farTransport(t)
	r := newRunner(t, Options{Transport: transport})
	connected := make(chan error)
	go func() { connected <- r.Connect(context.Background()) }()
	<-fars
	require.NoError(t, r.Close())
	err := <-connected
	require.ErrorIs(t, err, acpterm.ErrConnectionLost)
	require.ErrorIs(t, err, errClosed)
}

// The next call tries a failed Transport again.
func TestTransportFails(t *testing.T) {
	calls := 0
	r := newRunner(t, Options{Transport: openFunc(func(context.Context) (io.ReadWriteCloser, error) {
		if calls++; calls == 3 {
			return nil, nil
		}
		return nil, fmt.Errorf("no route, %d", calls)
	})})
	require.ErrorContains(t, r.Connect(t.Context()), "no route, 1")
	require.ErrorContains(t, r.Connect(t.Context()), "no route, 2")
	require.ErrorContains(t, r.Connect(t.Context()), "opened nothing")
}

// Connect gives up if Open takes too long.
func TestOpenTakesTooLong(t *testing.T) {
	r := newRunner(t, Options{
		ConnectTimeout: time.Millisecond,
		Transport: openFunc(func(ctx context.Context) (io.ReadWriteCloser, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
	})
	require.ErrorContains(t, r.Connect(t.Context()), "no connection within Options.ConnectTimeout")
}

// These tests mostly wait.
func TestRunnerWaits(t *testing.T) {
	atOnce(t, map[string]func(*testing.T){
		"slow close": testSlowClose, "silence": testSilence, "no end of a start": testCancelledStartCannotBeEnded,
	})
}

// However long closing a connection takes, only one exists at a time. Calls of Progress do not overlap, and report the
// loss immediately.
func testSlowClose(t *testing.T) {
	inner, fars := farTransport(t)
	closing, closed := make(chan struct{}), make(chan struct{})
	letClose := sync.OnceFunc(func() { close(closed) })
	defer letClose()
	var opened, calls atomic.Int32
	transport := openFunc(func(ctx context.Context) (io.ReadWriteCloser, error) {
		shell, err := inner.Open(ctx)
		if opened.Add(1) == 1 {
			shell = &slowCloser{ReadWriteCloser: shell, closing: closing, closed: closed}
		}
		return shell, err
	})
	lost := make(chan struct{}, 10)
	r := newRunner(t, Options{
		Transport: transport, ConnectTimeout: 5 * time.Second, // far longer than a connection takes
		Progress: func(p Progress) {
			if calls.Add(1) > 1 {
				t.Error("two calls of Progress")
			}
			defer calls.Add(-1)
			if p.Step == StepLost {
				lost <- struct{}{}
			}
		},
	})
	go func() {
		f := <-fars
		f.greet()
		f.conn.Close()
	}()
	r.Connect(testContext(t))
	<-lost
	<-closing
	for range longtest.Times(1, 3) {
		require.ErrorContains(t, r.Connect(testContext(t)), "has not closed the connection before")
	}
	require.EqualValues(t, 1, opened.Load())
	letClose()
	go func() { (<-fars).greet() }()
	require.NoError(t, r.Connect(testContext(t)))
	require.Empty(t, lost)
}

// slowCloser waits in Close until its test lets it continue.
type slowCloser struct {
	io.ReadWriteCloser
	closing, closed chan struct{}
}

func (s *slowCloser) Close() error {
	close(s.closing)
	<-s.closed
	return s.ReadWriteCloser.Close()
}

// A silent remote side is given up, and an answering one is not.
func testSilence(t *testing.T) {
	const silence = 3 * time.Second // far longer than an answer takes
	transport, fars := farTransport(t)
	r := newRunner(t, Options{Transport: transport, SilenceTimeout: silence})
	go func() {
		f := <-fars
		f.greet()
		for range 5 { // one every third of that
			if request := f.request(); request != nil {
				f.answer(frame.Answer{Reply: &frame.Reply{ID: request.ID}})
			}
		}
		for f.request() != nil {
		}
	}()
	began := time.Now()
	require.NoError(t, r.Connect(testContext(t)))
	<-r.link.connection.lost.Done()
	require.GreaterOrEqual(t, time.Since(began), 2*silence, "while it answered, and then until it was given up")
	require.ErrorContains(t, r.link.connection.whyLost(), "no message arrived within Options.SilenceTimeout")
}

// If the remote side does not read, only Wait waits for it.
func TestFarEndDoesNotRead(t *testing.T) {
	started := make(chan struct{})
	r := against(t, func(f *far) {
		f.greet()
		id := f.request().ID
		f.answer(frame.Answer{Reply: &frame.Reply{ID: id, Started: &frame.Started{}}})
		<-started
	})
	p, err := r.Start(testContext(t), startRequest(new(lines)))
	require.NoError(t, err)
	close(started)
	for range 1000 {
		p.Signal(syscall.SIGTERM)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 2 * maxAdmitted {
		asking.Go(func() {
			if _, err := r.RealDir(ctx, "/"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	cancel()
	asking.Wait()
	p.Close()
	_, err = p.Wait()
	require.ErrorIs(t, err, acpterm.ErrExitLost)
	<-p.Gone()
	require.Error(t, p.Err())
	for range maxPosted { // it counts as lost before its messages fill memory
		r.link.connection.post(&frame.Request{Signal: &frame.Signal{Process: 1, Name: "SIGHUP"}})
	}
	require.ErrorContains(t, r.link.connection.whyLost(), "does not read")
}

// The number of unanswered calls is bounded, whether or not their callers still wait.
func TestUnanswered(t *testing.T) {
	asked := make(chan *frame.Request, maxUnanswered)
	answer := make(chan struct{})
	r := against(t, func(f *far) {
		f.greet()
		for range maxUnanswered {
			asked <- f.request()
		}
		<-answer
		f.answer(frame.Answer{Reply: &frame.Reply{ID: 1, Dir: frame.Bytes("/")}})
		asked <- f.request()
	})
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	var asking sync.WaitGroup
	for range maxUnanswered {
		asking.Go(func() { r.RealDir(ctx, "/") })
	}
	for range maxUnanswered {
		<-asked
	}
	cancel()
	asking.Wait()

	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	_, err := r.Start(short, startRequest(new(lines)))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	next, cancelNext := context.WithCancel(testContext(t))
	defer cancelNext()
	asking.Go(func() { r.RealDir(next, "/") })
	close(answer)
	require.NotNil(t, (<-asked).RealDir, "nothing of the start was sent")
	cancelNext()
	asking.Wait()
}

// Each signal is sent by its name, in order, and none after the end of the tree.
func TestSignals(t *testing.T) {
	names := make(chan string)
	gone := make(chan struct{})
	r := against(t, func(f *far) {
		f.serve(func(id uint64) {
			for range 2 {
				names <- f.request().Signal.Name
			}
			f.answer(frame.Answer{Exit: &frame.Exit{Process: id, Signal: "SIGKILL"}})
			f.answer(frame.Answer{Gone: &frame.Process{Process: id}})
			<-gone
			closing := f.request()
			if closing.Close == nil {
				t.Errorf("%+v is no close", closing)
			}
			f.answer(frame.Answer{Ended: &frame.Process{Process: id}}) // it was already on its way
			f.answer(frame.Answer{Closed: closing.Close})
			close(names)
		})
	})
	var text lines
	p, err := r.Start(testContext(t), startRequest(&text))
	require.NoError(t, err)
	require.Equal(t, 42, p.PID())
	p.Signal(syscall.SIGTERM)
	require.Equal(t, "SIGTERM", <-names)
	p.Signal(syscall.SIGKILL)
	require.Equal(t, "SIGKILL", <-names)
	status, err := p.Wait()
	require.NoError(t, err)
	require.Equal(t, acpterm.TerminalExitStatus{Signal: new("SIGKILL")}, status)
	<-p.Gone()
	require.NoError(t, p.Err())
	p.Signal(syscall.SIGKILL)
	p.Close()
	p.Close()
	close(gone)
	<-names
	<-p.(*process).freed.Done()
	require.Empty(t, r.link.connection.processes)
	require.EqualValues(t, 1, text.closed.Load())
}

// Errors of the remote side keep their kinds, unless a remote side cannot have such an error.
func TestFarErrors(t *testing.T) {
	errs := make(chan *frame.Error, 1)
	r := against(t, func(f *far) {
		f.greet()
		for request := f.request(); request != nil; request = f.request() {
			f.answer(frame.Answer{Reply: &frame.Reply{ID: request.ID, Error: <-errs}})
		}
	})
	look := func(e *frame.Error) (converted *acpterm.Error) {
		errs <- e
		_, err := r.LookPath(testContext(t), acpterm.Command{Args: []string{"make"}})
		require.ErrorAs(t, err, &converted)
		return converted
	}
	require.EqualError(t, look(&frame.Error{Kind: "command_not_found"}), `acpterm: "make": command not found`)
	e := look(&frame.Error{Kind: "denied", Rule: "unchanged", Reason: "is another", Cause: "no\xff"})
	require.ErrorIs(t, e, acpterm.ErrDenied)
	require.Equal(t, "unchanged", e.Rule)
	require.ErrorContains(t, e.Err, "no\uFFFD")
	require.ErrorIs(t, look(&frame.Error{Kind: "terminal_not_found"}), acpterm.ErrInternal)
	require.ErrorIs(t, look(&frame.Error{Kind: "connection_lost"}), acpterm.ErrInternal)
}

// A start request is sent completely. If it is too long, only its call fails.
func TestStartRequest(t *testing.T) {
	asked := make(chan *frame.Start, 1)
	r := against(t, func(f *far) {
		f.greet()
		request := f.request()
		asked <- request.Start
		f.answer(frame.Answer{Reply: &frame.Reply{ID: request.ID, Started: &frame.Started{
			PID: 7, Limits: []frame.Limit{
				{Name: "CPUTime", Value: 2, By: "rlimit"}, {Name: "Nice", Value: 3, By: "priority", Tree: true},
			},
		}}})
	})
	request := startRequest(new(lines))
	request.Command = acpterm.Command{
		Path: "/bin/\xff", Args: []string{"a", "\x00\xfe"}, Dir: "/\xfd", Env: []string{"A=\xfc"}, ShellLine: "a b",
	}
	request.Pin, request.Limits = "pin", acpterm.Limits{CPUTime: 1001 * time.Millisecond, Nice: 3}

	long := request
	long.Command.Args = []string{string(make([]byte, frame.MaxRequest/4*3))} // too long in base64
	_, err := r.Start(testContext(t), long)
	require.ErrorContains(t, err, "longer than")

	p, err := r.Start(testContext(t), request)
	require.NoError(t, err)
	got := <-asked
	require.Equal(t, &frame.Start{
		Process: got.Process, Pin: "pin", MarkName: "ACPTERM_TERMINAL", MarkValue: "term_1",
		Limits: []frame.Limit{{Name: "CPUTime", Value: 2}, {Name: "Nice", Value: 3}},
		Command: frame.Command{
			Path: frame.Bytes("/bin/\xff"), Args: frame.Texts([]string{"a", "\x00\xfe"}), Dir: frame.Bytes("/\xfd"),
			Env: frame.Texts([]string{"A=\xfc"}), Shell: frame.Bytes("a b"),
		},
	}, got)
	require.Equal(t, []acpterm.EnforcedLimit{
		{Name: "CPUTime", Value: 2, By: "rlimit"}, {Name: "Nice", Value: 3, By: "priority", Tree: true},
	}, p.Limits())
	request.Limits.Memory = -1
	_, err = r.Start(testContext(t), request)
	require.ErrorContains(t, err, "Limits.Memory")
}

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
// and nothing has answered. The clock of a synctest bubble makes the times exact.
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
