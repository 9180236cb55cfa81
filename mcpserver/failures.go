package mcpserver

// The first errors in the output of a command. They are collected as it arrives: a result shows the ends of long output,
// and the terminal may have dropped the rest.

import (
	"context"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

const (
	// failuresShare is the part of an excerpt, as 1/failuresShare, that shows the first errors.
	failuresShare = 4
	// linesBefore and linesAfter are how many lines around an error belong to it.
	linesBefore = 3
	linesAfter  = 7
	// maxFailureLine is the most bytes of a line among the errors.
	maxFailureLine = 400
)

// failures are the first errors of a terminal, each with the lines around it.
type failures struct {
	terminal *acpterm.Terminal

	mu       sync.Mutex
	found    []piece       // whole lines, in their order
	searched int64         // the output before this offset has been searched
	more     chan struct{} // closed when searched grows
}

// searchFailures begins to collect the errors of a terminal, until the output ends or the session begins to close. The
// text of a PTY is searched when it is read.
func (c *session) searchFailures(t *acpterm.Terminal) *failures {
	if t.HasPTY() {
		return nil
	}
	f := &failures{terminal: t, more: make(chan struct{})}
	c.searches.Go(func() { f.search(c.ctx, c.options.maxText()/failuresShare) })
	return f
}

// failuresOf returns the errors of a terminal whose command has ended, or nil.
func (c *session) failuresOf(t *acpterm.Terminal) []piece {
	if t.HasPTY() {
		limit := c.options.maxText()
		s := failureSearch{limit: limit / failuresShare}
		for p := range screenPieces(t, limit, limit) {
			if !p.lost {
				s.addLine(p)
			}
		}
		return s.found
	}
	f := c.command(t).failures
	if f == nil {
		return nil
	}
	return f.await(c.ctx, t.OutputTotal())
}

// await returns the errors once the output before an offset has been searched. An unfinished character may be withheld.
func (f *failures) await(ctx context.Context, end int64) []piece {
	for {
		f.mu.Lock()
		found, searched, more := f.found, f.searched, f.more
		f.mu.Unlock()
		if searched > end-utf8.UTFMax {
			return found
		}
		select {
		case <-more:
		case <-f.terminal.Released():
			return found
		case <-ctx.Done():
			return found
		}
	}
}

// search collects lines of at most limit bytes.
func (f *failures) search(ctx context.Context, limit int) {
	defer f.publish(nil, math.MaxInt64)
	var text display.Renderer
	s := failureSearch{limit: limit}
	for c := range f.terminal.Follow(ctx, 0) {
		if c.Missed > 0 {
			text = display.Renderer{}
			s.skip(c.Offset)
		}
		for raw := c.Raw; raw != ""; {
			part := firstLines(raw)
			raw = raw[len(part):]
			s.add(text.Write(part))
		}
		f.publish(s.found, c.End)
		if s.isFull() {
			return
		}
	}
	s.add(text.Finish())
	f.publish(s.found, math.MaxInt64)
}

// publish makes results available to await.
func (f *failures) publish(found []piece, searched int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(found) > len(f.found) {
		f.found = found
	}
	f.searched = max(f.searched, searched)
	close(f.more)
	f.more = make(chan struct{})
}

// failureSearch searches lines for errors.
type failureSearch struct {
	limit  int     // the most bytes of found
	found  []piece // only appended to
	size   int
	at     int64              // where the next line begins
	before [linesBefore]piece // the last lines not in found
	lines  int                // how many of them there are
	after  int                // how many of the next lines belong to the last error
}

func (s *failureSearch) isFull() bool { return s.size >= s.limit }

// skip goes on at an offset, after output that was missed.
func (s *failureSearch) skip(offset int64) { s.at, s.lines, s.after = offset, 0, 0 }

func (s *failureSearch) add(lines []display.Line) {
	for _, l := range lines {
		p := piece{from: s.at, to: s.at + l.Size, text: l.Text}
		s.at = p.to
		s.addLine(p)
	}
}

func (s *failureSearch) addLine(p piece) {
	switch {
	case isFailure(p.text):
		for _, b := range s.before[:s.lines] {
			s.keep(b)
		}
		s.keep(p)
		s.lines, s.after = 0, linesAfter
	case s.after > 0:
		s.keep(p)
		s.after--
	case s.lines < linesBefore:
		s.before[s.lines] = p
		s.lines++
	default:
		copy(s.before[:], s.before[1:])
		s.before[linesBefore-1] = p
	}
}

// keep adds a line to found if there is room.
func (s *failureSearch) keep(p piece) {
	p.text = endLine(shorten(p.text, maxFailureLine))
	if s.size += len(p.text); s.size <= s.limit {
		s.found = append(s.found, p)
	}
}
