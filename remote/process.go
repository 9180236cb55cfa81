package remote

// A remote command, as a Manager sees it: its requests, and the messages about it.

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// process is a remote command with its process tree.
type process struct {
	connection *connection
	id         uint64 // set before the request is sent
	output     io.WriteCloser

	// Set before Start returns.
	pid    int
	limits []acpterm.EnforcedLimit

	exited latch.Latch // status and exitErr are set
	gone   latch.Latch // goneErr is set
	freed  latch.Latch // the remote side has forgotten the process, or its state is unknown

	mu              sync.Mutex
	isExited        bool
	status          acpterm.TerminalExitStatus
	exitErr         error
	isOver          bool
	goneErr         error
	closing         bool // Close was sent or is not needed
	outputWasClosed bool

	heard heard // only for the reading goroutine
}

// heard records the messages about a process.
type heard struct {
	started, exited, gone, ended bool
	offset                       int64 // of the next output
}

var _ acpterm.Process = (*process)(nil)

// givenUp returns the error for the unknown end of a closed process.
func givenUp() error {
	return &acpterm.Error{Kind: acpterm.ErrExitLost, Reason: "it was given up before its end was seen"}
}

func (p *process) Wait() (acpterm.TerminalExitStatus, error) {
	<-p.exited.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.exitErr
}

func (p *process) Signal(sig syscall.Signal) {
	if !p.gone.IsSet() {
		p.connection.post(&frame.Request{Signal: &frame.Signal{Process: p.id, Name: proc.SignalName(sig)}})
	}
}

func (p *process) Gone() <-chan struct{} { return p.gone.Done() }

func (p *process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.goneErr
}

func (p *process) Limits() []acpterm.EnforcedLimit { return p.limits }

func (p *process) PID() int { return p.pid }

// Close asks the remote side to abandon the tree. Until it responds, messages about the tree are checked but ignored.
func (p *process) Close() {
	if p.beginClosing() && !p.freed.IsSet() {
		p.connection.post(&frame.Request{Close: &frame.Process{Process: p.id}})
	}
	p.settle(givenUp(), givenUp())
}

// beginClosing reports whether this is the first call.
func (p *process) beginClosing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.closing
	p.closing = true
	return first
}

// cancel tells the remote side to end the started process, or the start.
func (p *process) cancel() {
	p.connection.post(&frame.Request{Cancel: &frame.Process{Process: p.id}})
	p.gone.OnSet(p.Close) // no caller has the process to close it
}

// settle makes Wait and Gone return, unless they already have.
func (p *process) settle(exitErr, goneErr error) {
	p.setExit(acpterm.TerminalExitStatus{}, exitErr)
	p.setGone(goneErr)
}

// end settles a process when no more messages about it can arrive.
func (p *process) end(exitErr, goneErr error) {
	p.closeOutput()
	p.freed.Set() // before gone, which may call Close
	p.settle(exitErr, goneErr)
}

func (p *process) setExit(status acpterm.TerminalExitStatus, err error) {
	p.mu.Lock()
	first := !p.isExited
	if first {
		p.isExited, p.status, p.exitErr = true, status, err
	}
	p.mu.Unlock()
	if first {
		p.exited.Set()
	}
}

func (p *process) setGone(err error) {
	p.mu.Lock()
	first := !p.isOver
	if first {
		p.isOver, p.goneErr = true, err
	}
	p.mu.Unlock()
	if first {
		p.gone.Set()
	}
}

func (p *process) closeOutput() {
	p.mu.Lock()
	first := !p.outputWasClosed
	p.outputWasClosed = true
	p.mu.Unlock()
	if first {
		p.output.Close()
	}
}

// The reading goroutine calls the methods below. An error means that the remote side broke the protocol.

// started handles the reply to the start.
func (p *process) started(r *frame.Reply, asked []frame.Limit) (err error) {
	switch s := r.Started; {
	case r.Error != nil:
		if p.beginClosing() { // otherwise Closed will follow
			p.forget()
		}
	case s == nil || s.PID < 0:
		return errors.New("no process that was started")
	default:
		if p.limits, err = enforcedLimits(asked, s.Limits); err != nil {
			return err
		}
		p.pid, p.heard.started = s.PID, true
	}
	return nil
}

// forget removes a process that does not exist on the remote side.
func (p *process) forget() {
	c := p.connection
	c.mu.Lock()
	delete(c.processes, p.id)
	c.mu.Unlock()
	p.end(givenUp(), givenUp())
}

// write handles output.
func (p *process) write(offset int64, bytes []byte) error {
	switch {
	case !p.heard.started:
		return fmt.Errorf("output of process %d before its start", p.id)
	case p.heard.ended:
		return fmt.Errorf("output of process %d after its end", p.id)
	case offset != p.heard.offset:
		return fmt.Errorf("output of process %d at offset %d and not at %d", p.id, offset, p.heard.offset)
	}
	p.heard.offset += int64(len(bytes))
	p.output.Write(bytes) // an error means that the terminal was released
	return nil
}

// exitsWith handles the end of the command.
func (p *process) exitsWith(e *frame.Exit) error {
	switch {
	case !p.heard.started:
		return fmt.Errorf("the exit of process %d before its start", p.id)
	case p.heard.exited:
		return fmt.Errorf("a second exit of process %d", p.id)
	case e.Signal != "" && !isSignal(e.Signal):
		return fmt.Errorf("the exit of process %d by %.100q, which is no signal", p.id, e.Signal)
	}
	p.heard.exited = true
	switch {
	case e.Unknown != "":
		p.setExit(acpterm.TerminalExitStatus{}, &acpterm.Error{
			Kind: acpterm.ErrExitLost, Err: errors.New(visible(e.Unknown)),
		})
	case e.Signal != "":
		p.setExit(acpterm.TerminalExitStatus{Signal: &e.Signal}, nil)
	default:
		p.setExit(acpterm.TerminalExitStatus{ExitCode: &e.Code}, nil)
	}
	return nil
}

// isSignal reports whether name looks like the name of a signal.
func isSignal(name string) bool {
	rest, ok := strings.CutPrefix(name, "SIG")
	return ok && rest != "" && len(rest) <= 20 &&
		strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-") == ""
}

// isGone handles the end of the tree.
func (p *process) isGone() error {
	switch {
	case !p.heard.exited:
		return fmt.Errorf("the end of process %d's tree before its exit", p.id)
	case p.heard.gone:
		return fmt.Errorf("a second end of process %d's tree", p.id)
	}
	p.heard.gone = true
	p.setGone(nil)
	return nil
}

// outputEnded handles the end of the output.
func (p *process) outputEnded() error {
	switch {
	case !p.heard.started:
		return fmt.Errorf("the end of process %d's output before its start", p.id)
	case p.heard.ended:
		return fmt.Errorf("a second end of process %d's output", p.id)
	}
	p.heard.ended = true
	p.closeOutput()
	return nil
}

// isClosed handles the answer to Close.
func (p *process) isClosed() error {
	p.mu.Lock()
	closing := p.closing
	p.mu.Unlock()
	if !closing {
		return fmt.Errorf("process %d is closed, which was not asked", p.id)
	}
	p.forget()
	return nil
}
