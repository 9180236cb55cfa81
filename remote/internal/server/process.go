package server

// A process from its start to its Closed. One goroutine ends its tree, another one reports.

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/acpterm/acpterm/internal/capture"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// process is a process that starts, runs, or has not been closed yet.
type process struct {
	number    uint64
	server    *server
	startCtx  context.Context
	stopStart context.CancelFunc

	tree     *proc.Tree  // before started
	stdin    *proc.Input // before started; nil without a pipe
	pty      bool
	sink     *sink
	output   *capture.Reader
	stopping atomic.Bool // output.Stop was called

	started   latch.Latch // tree is set
	captured  latch.Latch // output is set
	cancelled latch.Latch // its events are not needed any more
	closing   latch.Latch // Request.Close has arrived
	exited    latch.Latch // exit and exitErr are set
	reported  latch.Latch // exited, and all output of the command itself is in the sink
	gone      latch.Latch // the tree is gone
	closed    latch.Latch // the tree is closed
	exit      proc.Exit
	exitErr   error

	wake chan struct{} // has an element when endTree has work

	inputs sync.WaitGroup // input to reply to before the exit is reported; Add is called with mu held

	mu        sync.Mutex
	signals   []syscall.Signal   // pending, each once
	stopEnd   context.CancelFunc // ends the wait of the running Tree.End, or nil
	endsInput bool               // the exit is reported soon
}

// start begins to start a process.
func (s *server) start(id uint64, r *frame.Start) error {
	p := &process{number: r.Process, server: s, pty: r.PTY != nil, wake: make(chan struct{}, 1)}
	p.startCtx, p.stopStart = context.WithCancel(s.ctx)
	p.sink = newSink(p, s.sender)
	if err := s.add(p); err != nil {
		p.stopStart()
		return s.answer(id, false, func() (frame.Reply, error) { return frame.Reply{}, err })
	}
	return s.begin(func() {
		if !s.beginWork() {
			return
		}
		defer p.stopStart()
		started, err := p.start(r)
		s.endWork()
		if err != nil {
			closed := s.remove(p)
			s.reply(id, frame.Reply{}, err)
			p.sayClosed(closed)
			return
		}
		s.busy.Go(p.endTree) // now, since signals do not wait until the reply is written
		s.reply(id, frame.Reply{Started: started}, nil)
		p.capture() // now, since output follows the reply
		s.busy.Go(p.report)
	})
}

// add registers a process.
func (s *server) add(p *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.processes[p.number] != nil:
		return &failure{kind: internal, reason: "the process's number is in use"}
	case len(s.processes) == maxProcesses:
		return &failure{kind: internal, reason: "there are too many processes"}
	}
	s.processes[p.number] = p
	return nil
}

// capture begins to send the output.
func (p *process) capture() {
	begin := capture.Start
	if p.pty {
		begin = capture.StartPTY
	}
	p.output = begin(p.tree.Output(), p.sink, &p.server.busy)
	p.captured.Set()
	p.exited.OnSet(func() { p.output.Drain(p.reported.Set) })
}

// report sends the events of the process in the promised order.
func (p *process) report() {
	if p.await(&p.reported) {
		p.endInputs()
		p.reportExit()
		if p.await(&p.gone) {
			p.reportGone()
			p.await(&p.cancelled)
		}
	}
	<-p.closed.Done()
	p.stopping.Store(true)
	p.output.Stop()
	p.sayClosed(p.server.remove(p))
}

// await waits for l. It returns false if the process is closed first or the connection ends.
func (p *process) await(l *latch.Latch) bool {
	select {
	case <-l.Done():
		return true
	case <-p.closing.Done():
	case <-p.server.ctx.Done():
	}
	return false
}

func (p *process) reportExit() {
	e := frame.Exit{Process: p.number, Code: p.exit.Code, Signal: p.exit.Signal}
	switch {
	case errors.Is(p.exitErr, os.ErrClosed): // the tree was closed before
		return
	case p.exitErr != nil:
		e.Unknown = cut(p.exitErr.Error())
	}
	p.server.sender.message(frame.Answer{Exit: &e})
}

// reportGone sends Gone, after the output of the rest of the tree.
func (p *process) reportGone() {
	drained := make(chan struct{})
	p.output.Drain(func() { close(drained) })
	<-drained
	p.server.sender.message(frame.Answer{Gone: &frame.Process{Process: p.number}})
}

// sayClosed sends Closed if it was requested.
func (p *process) sayClosed(asked bool) {
	if asked {
		p.server.sender.message(frame.Answer{Closed: &frame.Process{Process: p.number}})
	}
}

// endTree sends signals to the tree and waits until the tree is gone or closed. If the connection ends first, it ends
// the tree. Finally it closes the tree.
func (p *process) endTree() {
	p.tree.OnExit(func(exit proc.Exit, err error) {
		p.exit, p.exitErr = exit, err
		p.exited.Set()
	})
	defer p.closed.Set()
	defer p.tree.Close()
	defer p.interrupt() // frees the last context
	watching, unwatch := context.WithCancel(p.server.ctx)
	defer unwatch()
	exited := p.exited.Done()
	var changed chan struct{} // after the exit: closed when it is time to look for the rest of the tree
	for {
		select {
		case <-p.server.ctx.Done():
			life.End(p.tree, nil, life.Step{Signal: syscall.SIGTERM, Wait: p.server.grace})
			return
		case <-p.wake:
		case <-exited:
			exited = nil
		case <-changed:
			changed = nil
		}
		gone := p.sendSignals()
		if !gone && p.closing.IsSet() {
			return
		}
		if !gone && exited == nil && changed == nil {
			rest := p.tree.Rest()
			if gone = rest == nil; !gone {
				looked := make(chan struct{})
				changed = looked
				p.server.busy.Go(func() {
					defer close(looked)
					rest(watching)
				})
			}
		}
		if gone {
			<-p.exited.Done() // the command is gone, so this will happen soon
			p.gone.Set()
			return
		}
	}
}

// sendSignals sends the pending signals to the tree, and then waits until the tree is gone, another signal arrives, or
// the process is closed. It reports whether the tree is gone.
func (p *process) sendSignals() (gone bool) {
	for {
		ctx, sig, ok := p.nextSignal()
		if !ok {
			return false
		}
		left, doubt := p.tree.End(ctx, sig)
		if len(left) == 0 && doubt == nil && (ctx.Err() == nil || p.tree.Gone()) {
			return true
		}
	}
}

// nextSignal returns the next signal to send, with a context for the wait after it.
func (p *process) nextSignal() (ctx context.Context, sig syscall.Signal, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopEnd != nil {
		p.stopEnd()
		p.stopEnd = nil
	}
	if len(p.signals) == 0 {
		return nil, 0, false
	}
	sig, p.signals = p.signals[0], p.signals[1:]
	ctx, p.stopEnd = context.WithCancel(p.server.ctx)
	if len(p.signals) > 0 || p.closing.IsSet() {
		p.stopEnd()
	}
	return ctx, sig, true
}

// signal queues a signal for the whole tree, to be sent once the process has started.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	if !slices.Contains(p.signals, sig) {
		p.signals = append(p.signals, sig)
	}
	p.mu.Unlock()
	p.interrupt()
}

// interrupt wakes endTree.
func (p *process) interrupt() {
	p.mu.Lock()
	if p.stopEnd != nil {
		p.stopEnd()
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// cancel ends the process or its start, and makes the server forget it.
func (p *process) cancel() {
	p.stopStart()
	p.cancelled.Set()
	p.signal(syscall.SIGKILL)
}
