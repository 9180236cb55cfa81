package remote

// A connection to a helper: its requests, the answers, and its loss. outbox.go has the frames to write.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// cancelTimeout limits the time for the remote side to end the processes of a cancelled start, and then the time to
// give them up.
const cancelTimeout = 10 * time.Second

// maxUnanswered is the number of calls that may wait for their answers, whether or not their callers still wait.
// Further calls wait for room. The number is higher than that of requests at work in a helper, and far below the one
// that makes it end the connection.
const maxUnanswered = 1000

// connection is a connection to a helper, after its Hello. Its methods are safe for concurrent use, except serve.
type connection struct {
	stream   *stream
	frames   *frame.Reader
	hello    *frame.Hello
	outbox   outbox
	lost     latch.Latch    // cause is set; later messages are ignored
	busy     sync.WaitGroup // the reading and the writing goroutine
	haveRead uint64         // bytes of output frames; only for the reading goroutine

	cancelTimeout time.Duration // the constant, except in tests
	unanswered    chan struct{} // has an element for each admitted call without an answer
	inputs        chan struct{} // has an element for each Write of input

	mu        sync.Mutex
	cause     error // why the connection was lost; an *acpterm.Error
	lastID    uint64
	calls     map[uint64]*call    // unanswered calls
	processes map[uint64]*process // neither refused nor closed
}

// call is a sent request.
type call struct {
	// accept is called with the reply by the reading goroutine. An error means that the remote side broke the protocol.
	accept   func(*frame.Reply) error
	answered chan answered // has room for one answer
	admitted bool
}

// answered is the result of a call.
type answered struct {
	reply *frame.Reply
	err   error
}

func newConnection(s *stream, frames *frame.Reader, hello *frame.Hello) *connection {
	return &connection{
		stream: s, frames: frames, hello: hello, outbox: newOutbox(), cancelTimeout: cancelTimeout,
		unanswered: make(chan struct{}, maxUnanswered), inputs: make(chan struct{}, maxInputs),
		calls: make(map[uint64]*call), processes: make(map[uint64]*process),
	}
}

// serve reads and writes until the connection is lost or ctx is done, and returns the reason. The caller then calls
// close.
func (c *connection) serve(ctx context.Context, silence time.Duration) error {
	c.busy.Go(func() { c.lose(c.read()) })
	c.busy.Go(func() {
		if err := c.outbox.write(c.stream, c.lost.Done()); err != nil {
			c.lose(err)
		}
	})
	stop := context.AfterFunc(ctx, func() { c.lose(errClosed) })
	defer stop()
	c.watch(silence)
	return c.whyLost()
}

// close ends the connection and returns once it is completely gone.
func (c *connection) close() {
	c.stream.Close()
	c.busy.Wait()
}

// watch pings the remote side regularly until the connection is lost.
func (c *connection) watch(silence time.Duration) {
	ticker := time.NewTicker(max(silence/3, 1))
	defer ticker.Stop()
	var ping *call
	var asked time.Time
	for ticked := time.Now(); ; ticked = time.Now() {
		select {
		case <-c.lost.Done():
			return
		case <-ticker.C:
		}
		if ping != nil && len(ping.answered) == 0 {
			// All, because the remote side may have had no time to answer while this system slept, and this process may
			// not have read an answer if it was stopped.
			stopped := time.Since(ticked) >= silence/2
			if !stopped && c.stream.silence() >= silence && time.Since(asked) >= silence/2 {
				c.lose(fmt.Errorf("no message arrived within Options.SilenceTimeout, %v", silence))
			}
			continue
		}
		ping = newCall(func(*frame.Reply) error { return nil })
		asked = time.Now()
		c.send(&frame.Request{}, ping, nil)
	}
}

func newCall(accept func(*frame.Reply) error) *call {
	return &call{accept: accept, answered: make(chan answered, 1)}
}

// lose ends the connection: every call fails, and the state of every process is unknown. The first cause counts.
func (c *connection) lose(err error) {
	c.mu.Lock()
	if c.cause != nil {
		c.mu.Unlock()
		return
	}
	lost := &acpterm.Error{Kind: acpterm.ErrConnectionLost, Err: visibleError{err}}
	c.cause = lost
	calls, processes := c.calls, c.processes
	c.calls, c.processes = nil, nil
	c.mu.Unlock()
	c.lost.Set()
	for _, call := range calls {
		call.answered <- answered{err: lost}
	}
	for _, p := range processes {
		p.end(lost, lost)
	}
}

func (c *connection) whyLost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// ask sends a request and returns the reply. check is called for a reply without an error, like call.accept.
func (c *connection) ask(
	ctx context.Context, request *frame.Request, check func(*frame.Reply) error,
) (*frame.Reply, error) {
	return c.askFor(ctx, request, c.admit, check)
}

// askFor is ask with the function that waits for room.
func (c *connection) askFor(
	ctx context.Context, request *frame.Request, admit func(context.Context, *call) error,
	check func(*frame.Reply) error,
) (*frame.Reply, error) {
	call := newCall(func(r *frame.Reply) error {
		if r.Error != nil {
			return nil
		}
		return check(r)
	})
	if err := admit(ctx, call); err != nil {
		return nil, err
	}
	if err := c.send(request, call, nil); err != nil {
		return nil, err
	}
	select {
	case a := <-call.answered:
		return a.reply, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-call.answered: // before ctx was done, such as by an exit that the input has caused
		return a.reply, a.err
	default:
		return nil, context.Cause(ctx)
	}
}

// admit waits for room for a call until ctx is done or the connection is lost.
func (c *connection) admit(ctx context.Context, call *call) error {
	err := takeRoom(ctx, c.unanswered, c.lost.Done())
	if err == nil {
		call.admitted = true
		if err = takeRoom(ctx, c.outbox.room, c.lost.Done()); err != nil {
			c.release(call)
		}
	}
	if errors.Is(err, errLost) {
		return c.whyLost()
	}
	return err
}

// admitInput is admit for input, which has taken its own room. A program that does not read delays no other calls.
func (c *connection) admitInput(ctx context.Context, _ *call) error {
	err := takeRoom(ctx, c.outbox.room, c.lost.Done())
	if errors.Is(err, errLost) {
		return c.whyLost()
	}
	return err
}

// release frees the room of a call that is answered or was not sent.
func (c *connection) release(call *call) {
	if call.admitted {
		<-c.unanswered
	}
}

// send queues a request that gets a reply. If the request starts a process, start is that process.
func (c *connection) send(request *frame.Request, call *call, start *process) error {
	c.mu.Lock()
	if c.cause != nil {
		c.mu.Unlock()
		return c.cause
	}
	c.lastID++
	request.ID = c.lastID
	c.calls[request.ID] = call
	if start != nil { // request numbers are unique, so the process can use the same one
		start.id = request.ID
		request.Start.Process = start.id
		c.processes[start.id] = start
	}
	c.mu.Unlock()
	err := c.outbox.add(request)
	if err != nil {
		c.mu.Lock()
		delete(c.calls, request.ID)
		delete(c.processes, request.ID)
		c.mu.Unlock()
		c.release(call)
	}
	return err
}

// post queues a request that gets no reply.
func (c *connection) post(request *frame.Request) {
	if err := c.outbox.add(request); err != nil {
		c.lose(err)
	}
}

// start starts a process. If ctx is done first, start returns when nothing is left of the process, or the remote side
// has given it up.
func (c *connection) start(ctx context.Context, output io.WriteCloser, start frame.Start) (*process, error) {
	p := &process{connection: c, output: output}
	call := newCall(func(r *frame.Reply) error { return p.started(r, start.Limits) })
	if err := c.admit(ctx, call); err != nil {
		return nil, err
	}
	if err := c.send(&frame.Request{Start: &start}, call, p); err != nil {
		return nil, err
	}
	select {
	case a := <-call.answered:
		if a.err != nil {
			return nil, a.err
		}
		return p, nil
	case <-ctx.Done():
	}
	c.abandon(p)
	return nil, context.Cause(ctx)
}

// abandon tells the remote side to end the processes of a cancelled start, or to give up those that it cannot end, such
// as a process it may not signal. If it does neither in time, the connection is lost.
func (c *connection) abandon(p *process) {
	for _, step := range []func(){p.cancel, p.Close} {
		step()
		select {
		case <-p.freed.Done():
			return
		case <-time.After(c.cancelTimeout):
		}
	}
	c.lose(fmt.Errorf("the remote system has not ended a cancelled start within %v", 2*c.cancelTimeout))
}

// read reads the remote side's messages until the connection ends, and returns the reason.
func (c *connection) read() error {
	for {
		var answer frame.Answer
		output, err := c.frames.Read(&answer)
		switch {
		case c.lost.IsSet():
			return nil
		case err != nil:
			return err
		case output != nil:
			err = c.takeOutput(output)
		default:
			err = c.take(&answer)
		}
		if err != nil {
			return fmt.Errorf("the helper breaks the rules: %w", err)
		}
	}
}

func (c *connection) takeOutput(output *frame.Output) error {
	p, err := c.process(output.Process)
	if err != nil {
		return err
	}
	err = p.write(output.Offset, output.Bytes)
	c.haveRead += uint64(frame.Header + len(output.Bytes))
	c.outbox.hasRead(c.haveRead)
	return err
}

// process returns the process with a number.
func (c *connection) process(id uint64) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.processes[id]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("there is no process %d", id)
}

// take handles a message.
func (c *connection) take(a *frame.Answer) error {
	count := 0
	for _, set := range []bool{
		a.Hello != nil, a.Reply != nil, a.Exit != nil, a.Gone != nil, a.Ended != nil, a.Closed != nil,
	} {
		if set {
			count++
		}
	}
	switch {
	case count != 1:
		return fmt.Errorf("a message that says %d things", count)
	case a.Hello != nil:
		return errors.New("a second hello")
	case a.Reply != nil:
		return c.takeReply(a.Reply)
	}
	return c.takeEvent(a)
}

// takeEvent handles a message about a process.
func (c *connection) takeEvent(a *frame.Answer) error {
	id := uint64(0)
	switch {
	case a.Exit != nil:
		id = a.Exit.Process
	case a.Gone != nil:
		id = a.Gone.Process
	case a.Ended != nil:
		id = a.Ended.Process
	default:
		id = a.Closed.Process
	}
	p, err := c.process(id)
	switch {
	case err != nil:
		return err
	case a.Exit != nil:
		return p.exitsWith(a.Exit)
	case a.Gone != nil:
		return p.isGone()
	case a.Ended != nil:
		return p.outputEnded()
	}
	return p.isClosed()
}

func (c *connection) takeReply(r *frame.Reply) error {
	c.mu.Lock()
	call := c.calls[r.ID]
	delete(c.calls, r.ID)
	c.mu.Unlock()
	if call == nil {
		return fmt.Errorf("a reply to %d, which was not asked or is answered", r.ID)
	}
	c.release(call)
	a := answered{reply: r}
	if r.Error != nil {
		a.err = errorOf(r.Error)
	}
	if err := call.accept(r); err != nil {
		err = fmt.Errorf("a reply with %w", err)
		c.lose(fmt.Errorf("the helper breaks the rules: %w", err))
		a.err = c.whyLost()
	}
	call.answered <- a
	return nil
}

// errorOf converts an error of the remote side.
func errorOf(e *frame.Error) *acpterm.Error {
	converted := &acpterm.Error{
		Kind: acpterm.Kind(e.Kind), Field: visible(e.Field), Reason: visible(e.Reason), Rule: visible(e.Rule),
	}
	switch converted.Kind {
	case acpterm.ErrInvalidParams, acpterm.ErrNotExecutable, acpterm.ErrCommandNotFound, acpterm.ErrDenied,
		acpterm.ErrCancelled, acpterm.ErrExitLost:
	default:
		converted.Kind = acpterm.ErrInternal
	}
	if e.Cause != "" {
		converted.Err = errors.New(visible(e.Cause))
	}
	return converted
}
