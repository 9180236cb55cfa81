// Package server is the helper on the remote side of a connection. It exchanges frames (package frame) with a Runner,
// and runs its commands with the same code as a Manager. It knows nothing about terminals or the Agent Client Protocol.
//
// # Slow operations
//
// One goroutine reads all input, and waits for nothing else. Another one writes all output. Each request that may take
// time has its own goroutine, since a file system may not respond, and programs may not read their input. Each process has three: one copies its output and
// waits until it is written, so that a slow connection slows the commands; one sends signals to it and waits for its
// end; one reports its events. So neither a slow connection nor a hanging lookup delays a signal, and the output of one
// process delays neither answers nor the output of others for long (window.go).
//
// A Runner may have maxPending unanswered requests and maxProcesses processes. One more request ends the connection;
// the start of one more process fails. No more than maxAtWork requests are at work at a time. Each process has up to
// two frames of output in memory.
package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

const (
	maxPending   = 10_000
	maxProcesses = 10_000
	maxAtWork    = 256 // each may occupy a thread
)

// endGrace is the time that a tree has after SIGTERM when the connection ends.
const endGrace = 5 * time.Second

// giveUp is the time that everything started by a Serve has to end. After that, Serve returns anyway. It is longer than
// the steps of an escalation, and than Supervisor.Start needs to give up a hanging start.
const giveUp = 30 * time.Second

// errInputEnded is the end of a connection between two frames.
var errInputEnded = errors.New("the input has ended")

// Serve runs commands for the Runner on the other side of in and out. It stops when ctx or in ends, when malformed
// input arrives, or when a write fails. It then ends everything it started, the trees of commands with SIGTERM and 5
// seconds later with SIGKILL, and returns. It returns nil if in ended between two frames.
//
// A Read of in and a Write to out may still be running when Serve returns: the caller must close both.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, endGrace)
}

// serve is Serve with the time between SIGTERM and SIGKILL.
func serve(ctx context.Context, in io.Reader, out io.Writer, grace time.Duration) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &server{
		ctx: ctx, grace: grace, sender: newSender(ctx.Done()),
		atWork: make(chan struct{}, maxAtWork), processes: make(map[uint64]*process),
	}
	hello, err := newHello()
	if err != nil {
		return err
	}
	s.dir = string(hello.Dir)
	go func() { end(s.sender.run(out, hello)) }()
	go func() { end(s.read(in)) }()
	<-ctx.Done()
	if err = context.Cause(ctx); err == errInputEnded {
		err = nil
	}
	return errors.Join(err, s.close())
}

// server is the state of one Serve.
type server struct {
	ctx        context.Context // ends with the connection
	grace      time.Duration   // between the signals of a shutdown
	sender     *sender
	dir        string // the directory of commands that name none
	supervisor proc.Supervisor
	sandboxes  sandboxes
	atWork     chan struct{} // has one element for each request at work

	mu        sync.Mutex
	closing   bool           // nothing new may begin
	busy      sync.WaitGroup // close waits for it; Add is called by its own goroutines, or with mu held
	pending   int            // unanswered requests
	processes map[uint64]*process
}

// close waits until everything the server started has ended. This is soon, since the context has ended.
func (s *server) close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.busy.Wait()
		s.supervisor.Close()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-time.After(giveUp):
		return fmt.Errorf("a start, a lookup or a process has not ended for %v", giveUp)
	}
}

// read handles requests until the input ends or is malformed.
func (s *server) read(in io.Reader) error {
	frames := frame.NewReader(bufio.NewReader(in), frame.MaxRequest)
	for {
		var r frame.Request
		output, err := frames.Read(&r)
		switch {
		case err == io.EOF:
			return errInputEnded
		case err != nil:
			return err
		case output != nil:
			return errors.New("malformed request: output")
		}
		if err := s.take(r); err != nil {
			return err
		}
	}
}

// take begins the work of a request, and waits for nothing. An error ends the connection.
func (s *server) take(r frame.Request) error {
	asked := 0
	for _, is := range []bool{
		r.RealDir != nil, r.Look != nil, r.Start != nil, r.Cancel != nil, r.Signal != nil, r.Close != nil,
		r.Input != nil, r.Resize != nil, r.EndInput != nil, r.List != nil, r.Read != 0,
	} {
		if is {
			asked++
		}
	}
	switch {
	case asked > 1:
		return errors.New("malformed request: it asks for more than one thing")
	case r.ID == 0 && (r.RealDir != nil || r.Look != nil || r.Start != nil || r.Input != nil || r.List != nil):
		return errors.New("malformed request: it takes an answer, and has no number for it")
	case r.Read != 0:
		return s.sender.hasRead(r.Read)
	case r.RealDir != nil:
		return s.answer(r.ID, true, func() (frame.Reply, error) { return s.realDir(r.RealDir) })
	case r.Look != nil:
		return s.answer(r.ID, true, func() (frame.Reply, error) { return s.look(r.Look) })
	case r.Start != nil:
		return s.start(r.ID, r.Start)
	case r.Input != nil:
		return s.begin(func() { s.input(r.ID, r.Input) })
	case r.List != nil:
		return s.answer(r.ID, true, func() (frame.Reply, error) { return s.list(r.List) })
	case r.Close != nil:
		if s.closeProcess(r.Close.Process) {
			break
		}
		err := s.begin(func() { s.sender.message(frame.Answer{Closed: r.Close}) })
		if err != nil {
			return err
		}
	}
	var failed error
	switch {
	case r.Cancel != nil:
		failed = s.cancel(r.Cancel.Process)
	case r.Signal != nil:
		failed = s.signal(r.Signal)
	case r.Resize != nil:
		failed = s.resize(r.Resize)
	case r.EndInput != nil:
		failed = s.endInput(r.EndInput)
	}
	if r.ID == 0 { // the process may have ended by itself
		return nil
	}
	return s.answer(r.ID, false, func() (frame.Reply, error) { return frame.Reply{}, failed })
}

// begin calls f in a goroutine, and counts it as an unanswered request. f must return soon after the end of the
// connection.
func (s *server) begin(f func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return nil
	case s.pending == maxPending:
		return fmt.Errorf("more than %d requests are not answered", maxPending)
	}
	s.pending++
	s.busy.Go(func() {
		f()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending--
	})
	return nil
}

// answer starts a goroutine that answers a request with the result of f. f may take time if work is true.
func (s *server) answer(id uint64, work bool, f func() (frame.Reply, error)) error {
	return s.begin(func() {
		if work && !s.beginWork() {
			return
		}
		reply, err := f()
		if work {
			s.endWork()
		}
		s.reply(id, reply, err)
	})
}

// beginWork waits until fewer than maxAtWork requests are at work. It returns false after the end of the connection.
func (s *server) beginWork() bool {
	select {
	case s.atWork <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *server) endWork() { <-s.atWork }

// reply sends a reply, or err instead of it.
func (s *server) reply(id uint64, reply frame.Reply, err error) {
	if err != nil {
		reply = frame.Reply{Error: errorFrame(err)}
	}
	reply.ID = id
	s.sender.message(frame.Answer{Reply: &reply})
}

// process returns the process with a number, or nil.
func (s *server) process(number uint64) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[number]
}

// remove forgets a process, and reports whether Closed must be sent for it.
func (s *server) remove(p *process) (closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.processes, p.number)
	return p.closing.IsSet()
}

// closeProcess gives up a process. It returns false if the number is unknown.
func (s *server) closeProcess(number uint64) bool {
	s.mu.Lock()
	p := s.processes[number]
	if p != nil {
		p.closing.Set() // before remove
	}
	s.mu.Unlock()
	if p != nil {
		p.stopStart()
		p.interrupt()
	}
	return p != nil
}

// cancel ends the processes of a start that needs no answer, also those that it still starts.
func (s *server) cancel(number uint64) error {
	p := s.process(number)
	if p == nil {
		return unknownProcess(number)
	}
	p.cancel()
	return nil
}

// signal sends a signal to the tree of a process.
func (s *server) signal(r *frame.Signal) error {
	p := s.process(r.Process)
	if p == nil {
		return unknownProcess(r.Process)
	}
	sig, ok := signalNumber(r.Name)
	if !ok {
		return &failure{kind: invalidParams, field: "signal", reason: "this system has no such signal"}
	}
	p.signal(sig)
	return nil
}

// signalNumber returns this system's signal with a name returned by proc.SignalName.
func signalNumber(name string) (sig syscall.Signal, ok bool) {
	const highest = 128 // on any system
	for sig = 1; sig <= highest; sig++ {
		if proc.SignalName(sig) == name {
			return sig, true
		}
	}
	return 0, false
}

func unknownProcess(number uint64) error {
	return &failure{kind: internal, reason: fmt.Sprintf("there is no process with the number %d", number)}
}
