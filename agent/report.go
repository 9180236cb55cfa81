package agent

// The report of one terminal: what is said, and when.

import (
	"context"
	"math"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// voice makes the updates about one terminal.
type voice interface {
	// began is what a report begins with; nil: nothing is sent. empty says that there is no output yet.
	began(ended, empty bool) any
	// wrote is a piece of output. replace says that it takes the place of all before it, as after a Missed.
	wrote(c acpterm.Chunk, replace bool) any
	// exited is how the command ended.
	exited(status acpterm.TerminalExitStatus) any
}

// report reports one terminal, by a goroutine of its own that waits for each of its messages to be written.
type report struct {
	reporter    *Reporter
	terminal    *acpterm.Terminal
	voice       voice
	cancellable bool

	ctx     context.Context // ends with the Reporter, or with stop
	stop    func()
	restart chan struct{} // receives after asked was increased

	// Under Reporter.mu.
	asked  int   // how many Replays were asked for
	round  int   // how many were when the last round began whose beginning is sent; -1: none is
	at     int64 // the output before it is sent in that round
	exited bool  // the exit status is, too
	gone   bool  // there is nothing more to send
}

// goal is what Flush waits for.
type goal struct {
	round int
	at    int64
	ended bool
}

func (p *report) goal() (g goal) {
	g.ended = p.hasEnded() // before the output, which is whole then
	// Up to three bytes are withheld that begin a character, until it is whole.
	g.at = p.terminal.OutputTotal() - (utf8.UTFMax - 1)
	p.reporter.mu.Lock()
	defer p.reporter.mu.Unlock()
	g.round = p.asked
	return g
}

func (p *report) hasEnded() bool {
	select {
	case <-p.terminal.Done():
		return true
	default:
		return false
	}
}

// reached is called with Reporter.mu held.
func (p *report) reached(g goal) bool {
	return p.round >= g.round && p.at >= g.at && (p.exited || !g.ended)
}

// run reports until the terminal is released and all is sent, or p.ctx ends.
func (p *report) run() {
	defer p.stop()
	for again := true; again; {
		again = p.tell()
	}
}

// tell reports from the beginning, until there is nothing more to say or a Replay is asked for, which it returns.
func (p *report) tell() (replay bool) {
	round := p.beginRound()
	ended := p.hasEnded()
	empty := p.terminal.OutputTotal() == 0
	if !p.send(p.voice.began(ended, empty)) {
		return false
	}
	p.progress(round, 0, false)
	ctx, stop := context.WithCancel(p.ctx)
	defer stop()
	chunks := p.follow(ctx)
	exit := p.terminal.Done()
	var released <-chan struct{}
	replace, exited := !empty, false
	at, whole := int64(0), int64(math.MaxInt64)
	for {
		select {
		case c, more := <-chunks:
			if !more {
				chunks = nil
				break
			}
			if !p.send(p.voice.wrote(c, replace)) {
				return false
			}
			replace, at = false, c.End
			p.progress(round, at, exited)
		case <-exit:
			exit, whole = nil, p.terminal.OutputTotal()
		case <-released:
			return false
		case <-p.restart:
			return true
		case <-ctx.Done():
			return false
		}
		if !exited && exit == nil && (chunks == nil || p.toldWhole(at, whole)) {
			if !p.send(p.voice.exited(p.exitStatus())) {
				return false
			}
			exited = true
			p.progress(round, at, exited)
		}
		if exited && chunks == nil {
			released = p.terminal.Released()
		}
	}
}

// toldWhole reports whether all that the command itself wrote is sent. What else has its output open may have begun a
// character after it, which is then withheld with up to three bytes of the command's.
func (p *report) toldWhole(at, whole int64) bool {
	return at >= whole || at > whole-utf8.UTFMax && p.terminal.OutputTotal() > whole
}

// exitStatus is empty if the command's end could not be seen.
func (p *report) exitStatus() acpterm.TerminalExitStatus {
	if status := p.terminal.ExitStatus(); status != nil {
		return *status
	}
	return acpterm.TerminalExitStatus{}
}

// follow returns the output in pieces, until there can be no more or ctx ends.
func (p *report) follow(ctx context.Context) <-chan acpterm.Chunk {
	chunks := make(chan acpterm.Chunk)
	p.reporter.reported.Go(func() {
		defer close(chunks)
		for c := range p.terminal.Follow(ctx, 0) {
			select {
			case chunks <- c:
			case <-ctx.Done():
				return
			}
		}
	})
	return chunks
}

// send sends an update and waits until it is written. It reports false when p.ctx has ended.
func (p *report) send(update any) bool {
	if update == nil {
		return true
	}
	n := p.reporter.post(p.terminal.SessionID(), update)
	if n.await(p.ctx) != nil {
		p.reporter.out.withdraw(n)
		return false
	}
	return true
}

// beginRound begins a round, which is for all Replays so far.
func (p *report) beginRound() (round int) {
	p.reporter.mu.Lock()
	defer p.reporter.mu.Unlock()
	select {
	case <-p.restart:
	default:
	}
	return p.asked
}

// progress sets what is sent.
func (p *report) progress(round int, at int64, exited bool) {
	p.reporter.mu.Lock()
	defer p.reporter.mu.Unlock()
	p.round, p.at, p.exited = round, at, exited
	p.reporter.progressLocked()
}
