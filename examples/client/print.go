package main

// What the person sees: the agent's text as it is, "* " and a tool call, "[1] $ " and the first terminal's
// command, "[1] | " and its output, "[1] ! " and how much of that was missed, "[1] = " and how it ended; and "agent: "
// and what the agent writes to standard error.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// screen prints what comes from several sides at once, each piece as soon as it is there, so that no line has
// pieces from two sides.
//
// All methods may be called concurrently.
type screen struct {
	out, errors *column
	failed      func(error) // is told when out cannot be written to

	following sync.WaitGroup // one for each terminal whose output is not all printed

	mu       sync.Mutex
	followed []*acpterm.Terminal // all that there were, the released ones too
	numbers  map[acpterm.TerminalID]int

	printing sync.Mutex // not mu, since whoever reads what is printed may be slow
	holding  bool       // the person is being asked something
	held     []piece
	size     int // of what is held, in bytes
	unheld   int // bytes that were too many to hold
}

// column is standard output or standard error.
type column struct {
	to io.Writer
	*cursor
}

// cursor is where the last line that was printed ends. At one terminal two columns have the same.
type cursor struct {
	at         io.Writer // where it was printed; nil: nowhere yet
	prefix     string    // whose it is
	unfinished bool
}

// piece is text for a writer.
type piece struct {
	to   io.Writer
	text string
}

func newScreen(out, errors io.Writer, failed func(error)) *screen {
	s := &screen{out: &column{out, new(cursor)}, failed: failed, numbers: make(map[acpterm.TerminalID]int)}
	s.errors = &column{errors, s.out.cursor}
	if !isTerminal(out) || !isTerminal(errors) {
		s.errors.cursor = new(cursor)
	}
	return s
}

// isTerminal reports whether a person may be reading what is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// print prints a piece of text, every line of it after the prefix, which also says whose it is. A piece goes on
// where the one before it ended, unless somebody else has printed meanwhile.
func (s *screen) print(prefix, text string) { s.printTo(s.out, prefix, harmless(text, false)) }

// printError prints a piece of what the agent has written to standard error.
func (s *screen) printError(text string) { s.printTo(s.errors, "agent: ", harmless(text, true)) }

func (s *screen) printTo(c *column, prefix, text string) {
	s.printing.Lock()
	defer s.printing.Unlock()
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case c.unfinished && c.at != c.to:
			s.endLine(c)
		case c.unfinished && c.prefix != prefix:
			b.WriteByte('\n')
			c.unfinished = false
		}
		if !c.unfinished {
			b.WriteString(prefix)
		}
		b.WriteString(line)
		c.at, c.prefix, c.unfinished = c.to, prefix, !strings.HasSuffix(line, "\n")
	}
	s.write(c.to, b.String())
}

// endLine ends a line that is unfinished.
func (s *screen) endLine(c *column) {
	if c.unfinished {
		s.write(c.at, "\n")
		c.unfinished = false
	}
}

// mostHeld is how many bytes wait for the person's answer. There is no waiting with them: an agent that is not read
// from could not withdraw the question either.
const mostHeld = 1 << 20

func (s *screen) write(to io.Writer, text string) {
	switch {
	case text == "":
	case !s.holding:
		if _, err := io.WriteString(to, text); err != nil && to == s.out.to {
			s.failed(err)
		}
	case s.size+len(text) > mostHeld:
		s.unheld += len(text)
	default:
		s.held = append(s.held, piece{to, text})
		s.size += len(text)
	}
}

// hold keeps back what is printed, so that nothing an agent writes can pass for the question that the person is asked.
func (s *screen) hold() {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.endLine(s.out)
	s.endLine(s.errors)
	s.holding = true
}

// resume prints what was kept back.
func (s *screen) resume() {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.holding = false
	for _, p := range s.held {
		s.write(p.to, p.text)
	}
	s.held, s.size = nil, 0
	if s.unheld > 0 {
		s.write(s.out.to, fmt.Sprintf("\n! %d bytes more came while you were asked\n", s.unheld))
		s.unheld, s.out.unfinished = 0, false
	}
}

// harmless makes text one that cannot steer the person's terminal: neither agents nor commands are trusted with it.
// Marks of direction are escaped. Control characters, such as those of escape sequences, are escaped as well, or
// dropped; line ends and tabs stay.
func harmless(text string, escapeControls bool) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r) && !escapeControls:
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp):
			b.WriteString(display.Visible(string(r), 0))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mostShown is how many bytes of a command are shown unless the person asks for all of it.
const mostShown = 1200

// follow prints a terminal's output as it comes. It does not wait for it.
func (s *screen) follow(t *acpterm.Terminal) {
	s.mu.Lock()
	s.followed = append(s.followed, t)
	name := fmt.Sprintf("[%d]", len(s.followed))
	s.numbers[t.ID()] = len(s.followed)
	s.mu.Unlock()
	s.print(name+" $ ", display.Visible(t.Command().String(), mostShown)+"\n")
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
	s.endLine(s.out)
	s.endLine(s.errors)
}
