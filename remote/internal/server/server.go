// Package server is the helper at the far end of a connection: it runs commands for a Runner, which it exchanges frames
// with (package frame), by what a Manager runs commands with itself. It imports acpterm's internal packages, and knows
// nothing of terminals or of the Agent Client Protocol.
//
// # What may be slow
//
// Everything that arrives is read by one goroutine, which waits for nothing else, and everything that is sent is
// written by one. Between them, each request that may take time has a goroutine, as a file system may not answer; and
// each process has three: one copies its output, and waits until that is written, so that a slow connection slows the
// commands; one sends signals to it and watches for its end; one reports what has become of it. So neither a slow
// connection nor a lookup that hangs delays a signal.
//
// A Runner may have maxPending requests unanswered and maxProcesses processes, beyond which the one ends the connection
// and the other fails. Of its requests, maxAtWork are at work at a time. For each process up to two frames of output
// are in memory.
package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

const (
	maxPending   = 10_000
	maxProcesses = 10_000
	maxAtWork    = 256 // each may occupy a thread
)

// endGrace is how long a tree has after SIGTERM when the connection ends.
const endGrace = 5 * time.Second

// giveUp is how long what a Serve has started may take to end, after which Serve returns without: more than the steps
// of an escalation and the time that Supervisor.Start takes to give up a start that hangs.
const giveUp = 30 * time.Second

// errInputEnded is the end of a connection between two frames.
var errInputEnded = errors.New("the input has ended")

// Serve runs commands for the Runner at the other end of in and out. It returns when ctx or in ends, when something
// malformed arrives, or when a write fails, and when it has ended all that it started: the trees of commands by
// SIGTERM, and after 5 seconds by SIGKILL. It returns nil when in has ended between two frames.
//
// A Read of in and a Write to out may be under way when it returns: the caller closes both.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return serve(ctx, in, out, endGrace)
}

// serve is Serve with the time from the SIGTERM to the SIGKILL.
func serve(ctx context.Context, in io.Reader, out io.Writer, grace time.Duration) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &server{
		ctx: ctx, grace: grace, sender: sender{frames: make(chan outgoing), over: ctx.Done()},
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

// server is one Serve.
type server struct {
	ctx        context.Context // ends with the connection
	grace      time.Duration   // between the signals of escalate
	sender     sender
	dir        string // the directory of commands that name none
	supervisor proc.Supervisor
	atWork     chan struct{} // has one element for each request that is at work

	mu        sync.Mutex
	closing   bool           // nothing more begins
	busy      sync.WaitGroup // what close waits for; added to by goroutines that are in it, or with mu held
	pending   int            // requests that are not answered
	processes map[uint64]*process
}

// close waits until all that was started has ended. The context has ended, so it is about to.
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

// read takes requests until the input ends, or something is wrong with it.
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

// take begins what a request asks for, and waits for nothing. Its error ends the connection.
func (s *server) take(r frame.Request) error {
	asked := 0
	for _, is := range []bool{
		r.RealDir != nil, r.Look != nil, r.Start != nil, r.Cancel != nil, r.Signal != nil, r.Close != nil,
	} {
		if is {
			asked++
		}
	}
	switch {
	case asked > 1:
		return errors.New("malformed request: it asks for more than one thing")
	case r.ID == 0 && (r.RealDir != nil || r.Look != nil || r.Start != nil):
		return errors.New("malformed request: it takes an answer, and has no number for it")
	case r.RealDir != nil:
		return s.answer(r.ID, true, func() (frame.Reply, error) { return s.realDir(r.RealDir) })
	case r.Look != nil:
		return s.answer(r.ID, true, func() (frame.Reply, error) { return s.look(r.Look) })
	case r.Start != nil:
		return s.start(r.ID, r.Start)
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
	}
	if r.ID == 0 { // what it means may have ended by itself
		return nil
	}
	return s.answer(r.ID, false, func() (frame.Reply, error) { return frame.Reply{}, failed })
}

// begin has f called by a goroutine, as one of the requests that are not answered. f returns soon after the end of the
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

// answer has a goroutine answer a request with what f returns, which may take time if it is work.
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

// beginWork waits until fewer than maxAtWork requests are at work. It reports false after the end of the connection.
func (s *server) beginWork() bool {
	select {
	case s.atWork <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *server) endWork() { <-s.atWork }

// reply sends a reply, or an error in its place.
func (s *server) reply(id uint64, reply frame.Reply, err error) {
	if err != nil {
		reply = frame.Reply{Error: errorFrame(err)}
	}
	reply.ID = id
	s.sender.message(frame.Answer{Reply: &reply})
}

// process returns the process with a number; nil if there is none.
func (s *server) process(number uint64) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[number]
}

// remove forgets a process, and reports whether Closed is to be sent for it.
func (s *server) remove(p *process) (closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.processes, p.number)
	return p.closing.IsSet()
}

// closeProcess gives a process up. It reports false if there is none with that number.
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

// cancel ends what a start that need not be answered has started or will start.
func (s *server) cancel(number uint64) error {
	p := s.process(number)
	if p == nil {
		return unknownProcess(number)
	}
	p.cancel()
	return nil
}

// signal has a signal sent to a process's tree.
func (s *server) signal(r *frame.Signal) error {
	p := s.process(r.Process)
	if p == nil {
		return unknownProcess(r.Process)
	}
	sig, ok := proc.SignalNumber(r.Name)
	if !ok {
		return &failure{kind: invalidParams, field: "signal", reason: "this system has no such signal"}
	}
	p.signal(sig)
	return nil
}

func unknownProcess(number uint64) error {
	return &failure{kind: internal, reason: fmt.Sprintf("there is no process with the number %d", number)}
}
