package main

// What the person sees: the agent's text as it is, "* " and a tool call, "[1] $ " and the first terminal's
// command, "[1] | " and its output, "[1] ! " and how much of that was missed, "[1] = " and how it ended.

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/acpterm/acpterm"
)

// screen prints what comes from several sides at once, each piece as soon as it is there, so that no line has
// pieces from two sides.
//
// All methods may be called concurrently.
type screen struct {
	out    io.Writer
	failed func(error) // is told when out cannot be written to

	following sync.WaitGroup // one for each terminal whose output is not all printed

	mu       sync.Mutex
	followed []*acpterm.Terminal // all that there were, the released ones too
	numbers  map[acpterm.TerminalID]int

	printing sync.Mutex // not mu, since whoever reads what is printed may be slow
	prefix   string     // whose line the last one is
	midLine  bool       // whether it is unfinished
	holding  bool       // the person is being asked something
	held     strings.Builder
	unheld   int // bytes that were too many to hold
}

func newScreen(out io.Writer, failed func(error)) *screen {
	return &screen{out: out, failed: failed, numbers: make(map[acpterm.TerminalID]int)}
}

// print prints a piece of text, every line of it after the prefix, which also says whose it is. A piece goes on
// where the one before it ended, unless somebody else has printed meanwhile.
func (s *screen) print(prefix, text string) {
	s.printing.Lock()
	defer s.printing.Unlock()
	var b strings.Builder
	for line := range strings.Lines(strings.Map(harmless, text)) {
		if s.midLine && s.prefix != prefix {
			b.WriteByte('\n')
			s.midLine = false
		}
		if !s.midLine {
			b.WriteString(prefix)
		}
		b.WriteString(line)
		s.prefix, s.midLine = prefix, !strings.HasSuffix(line, "\n")
	}
	s.write(b.String())
}

// mostHeld is how many bytes wait for the person's answer. There is no waiting with them: an agent that is not read
// from could not withdraw the question either.
const mostHeld = 1 << 20

func (s *screen) write(text string) {
	switch {
	case !s.holding:
		if _, err := io.WriteString(s.out, text); err != nil {
			s.failed(err)
		}
	case s.held.Len()+len(text) > mostHeld:
		s.unheld += len(text)
	default:
		s.held.WriteString(text)
	}
}

// hold keeps back what is printed, so that nothing an agent writes can pass for the question that the person is asked.
func (s *screen) hold() {
	s.printing.Lock()
	defer s.printing.Unlock()
	if s.midLine {
		s.write("\n")
		s.midLine = false
	}
	s.holding = true
}

// resume prints what was kept back.
func (s *screen) resume() {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.holding = false
	s.write(s.held.String())
	s.held.Reset()
	if s.unheld > 0 {
		s.write(fmt.Sprintf("\n! %d bytes more came while you were asked\n", s.unheld))
		s.unheld, s.midLine = 0, false
	}
}

// harmless drops what would steer the person's terminal, such as escape sequences: neither agents nor commands
// are trusted with it.
func harmless(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// follow prints a terminal's output as it comes. It does not wait for it.
func (s *screen) follow(t *acpterm.Terminal) {
	s.mu.Lock()
	s.followed = append(s.followed, t)
	name := fmt.Sprintf("[%d]", len(s.followed))
	s.numbers[t.ID()] = len(s.followed)
	s.mu.Unlock()
	s.print(name+" $ ", t.Command().String()+"\n")
	s.following.Go(func() {
		for chunk := range t.Follow(context.Background(), 0) {
			if chunk.Missed > 0 {
				s.print(name+" ! ", fmt.Sprintf("%d bytes came too fast to be shown\n", chunk.Missed))
			}
			s.print(name+" | ", chunk.Text)
		}
		status, err := t.Wait(context.Background())
		if err != nil {
			s.print(name+" = ", err.Error()+"\n")
			return
		}
		text := status.String()
		if t.EndedBy() == acpterm.EndedByTimeout {
			text += ", timed out"
		}
		s.print(name+" = ", text+"\n")
	})
}

// name is what a terminal's lines begin with. It is known for ever: some agents show a terminal in a tool call
// when they have released it.
func (s *screen) name(id acpterm.TerminalID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number, ok := s.numbers[id]; ok {
		return fmt.Sprintf("[%d]", number)
	}
	return "[unknown terminal]"
}

// finish returns when everything is printed, to the end of the line.
func (s *screen) finish() {
	s.following.Wait()
	s.printing.Lock()
	defer s.printing.Unlock()
	if s.midLine {
		fmt.Fprintln(s.out)
	}
}
