package agent

// The report of one terminal: its updates and their order.

import (
	"context"
	"math"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

// voice makes the updates for one terminal.
type voice interface {
	// began returns the first update of a report. If nil, nothing is sent. empty reports whether the output is
	// still empty.
	began(ended, empty bool) any
	// wrote returns the update for a piece of output. If replace is true, the piece replaces all output before it, as
	// after a Missed.
	wrote(c acpterm.Chunk, replace bool) any
	// exited returns the update for the end of the command.
	exited(status acpterm.TerminalExitStatus) any
}

// report reports one terminal. Its goroutine waits until each message is written.
type report struct {
	reporter    *Reporter
	terminal    *acpterm.Terminal
	voice       voice
	cancellable bool

	ctx     context.Context // ends with the Reporter, or with stop
	stop    func()
	restart chan struct{} // receives after asked has increased

	// Under Reporter.mu.
	asked  int   // number of requested Replays
	round  int   // asked at the start of the last round with a sent beginning, or -1
	at     int64 // the output before this offset has been sent in that round
	exited bool  // the exit status has also been sent
	gone   bool  // the report has ended
}

// goal is the progress that Flush waits for.
type goal struct {
	round int
	at    int64
	ended bool
}

func (p *report) goal() (g goal) {
	g.ended = p.hasEnded() // before OutputTotal, which then includes all output of the command
	// Up to three bytes at the beginning of a character are withheld until it is complete.
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

// reached reports whether the report has reached a goal. Reporter.mu must be held.
func (p *report) reached(g goal) bool {
	return p.round >= g.round && p.at >= g.at && (p.exited || !g.ended)
}

// run reports until the terminal is released and everything is sent, or until p.ctx is done.
func (p *report) run() {
	defer p.stop()
	for again := true; again; {
		again = p.tell()
	}
}

// tell reports from the beginning until nothing more can follow, or until a Replay is requested. It returns true for a
// Replay.
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

// toldWhole reports whether all output of the command itself has been sent. Another process with the same output may
// have begun a character after it. That character is withheld, with up to three bytes of the command's output.
func (p *report) toldWhole(at, whole int64) bool {
	return at >= whole || at > whole-utf8.UTFMax && p.terminal.OutputTotal() > whole
}

// exitStatus returns the command's exit status. It is empty if the command's end could not be observed.
func (p *report) exitStatus() acpterm.TerminalExitStatus {
	if status := p.terminal.ExitStatus(); status != nil {
		return *status
	}
	return acpterm.TerminalExitStatus{}
}

// follow returns the output in pieces, until no more can follow or ctx is done.
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

// send sends an update and waits until it is written. It reports false if p.ctx is done.
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

// beginRound begins a round. It covers all Replays requested so far.
func (p *report) beginRound() (round int) {
	p.reporter.mu.Lock()
	defer p.reporter.mu.Unlock()
	select {
	case <-p.restart:
	default:
	}
	return p.asked
}

// progress records what the report has sent.
func (p *report) progress(round int, at int64, exited bool) {
	p.reporter.mu.Lock()
	defer p.reporter.mu.Unlock()
	p.round, p.at, p.exited = round, at, exited
	p.reporter.progressLocked()
}
