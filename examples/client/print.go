package main

// The lines that the user sees. Each begins with its kind, so that no text of an agent or a command looks like a line of
// another kind. On a terminal, a long line has several rows, which begin with the kind and "| ".
//
//	>          the agent's message
//	*          a tool call, or a permission; the agent's words are in quotes
//	!          why a command was denied
//	[1] $      the first terminal's command
//	[1] |      its output
//	[1] !      the size of missed output
//	[1] =      how it ended
//	[agent 1]  the same of a command that the agent runs itself, in the agent's account
//	agent:     the agent's standard error
//	client:    the client itself, on standard error
//	?          a question, on the terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

// screen prints what comes from several sides at once, each piece as soon as it is there, so that no line has
// pieces from two sides.
//
// All methods may be called concurrently.
type screen struct {
	out, errors *column
	colours     bool        // of commands are printed
	failed      func(error) // is called when out cannot be written to

	following sync.WaitGroup // one for each terminal whose output is not all printed, and for denials

	mu        sync.Mutex
	terminals int                           // how many there were
	names     map[acpterm.TerminalID]string // of the newest, the released ones too
	named     []acpterm.TerminalID          // those of names, the oldest first

	printing sync.Mutex // not mu: a write may wait for its reader
	buffer   []byte     // what is being printed
	holding  bool       // the person is being asked something
	held     []piece
	size     int // of what is held, in bytes
	unheld   int // bytes that were too many to hold

	over atomic.Bool // nothing is printed any more
}

// column is standard output or standard error.
type column struct {
	to io.Writer
	*cursor
}

// cursor is where the last line that was printed ends. At one terminal two columns have the same.
type cursor struct {
	at     io.Writer // where it was printed; nil: nowhere yet
	prefix string    // whose it is
	end    int       // its column: 0 is the beginning of a line
}

// piece is text for a writer.
type piece struct {
	to   io.Writer
	text []byte
}

func newScreen(out, errors io.Writer, colours bool, failed func(error)) *screen {
	s := &screen{
		out: &column{out, new(cursor)}, colours: colours, failed: failed, names: make(map[acpterm.TerminalID]string),
	}
	s.errors = &column{errors, s.out.cursor}
	if !isTerminal(out) || !isTerminal(errors) {
		s.errors.cursor = new(cursor)
	}
	return s
}

// print prints a piece of text, every line of it after the prefix, which also says whose it is. A piece goes on
// where the one before it ended, unless something else was printed in between.
func (s *screen) print(prefix, text string) { s.printTo(s.out, prefix, harmless(text, dropControls)) }

// tell prints a line of the client's own on standard error.
func (s *screen) tell(line string) {
	s.printTo(s.errors, "client: ", harmless(line, escapeControls)+"\n")
}

// printError prints a line that the agent has written to standard error.
func (s *screen) printError(line string) {
	s.printTo(s.errors, "agent: ", harmless(line, escapeControls)+"\n")
}

// printSkipped prints a line of the agent's that is no message.
func (s *screen) printSkipped(l acpterm.SkippedLine) {
	text := display.Quote(string(l.Text[:min(len(l.Text), mostShown)]), mostShown/6)
	s.printTo(s.errors, "client: ", fmt.Sprintf("skipped a line of the agent's that %s: %s\n", l.Reason, text))
}

// clientLog prints what is logged about an agent, such as that it writes more to standard error than can be printed.
type clientLog struct{ *screen }

func (l clientLog) Write(line []byte) (int, error) {
	l.printTo(l.errors, "client: ", harmless(string(line), escapeControls))
	return len(line), nil
}

// printTo prints text that is harmless, with one write.
func (s *screen) printTo(c *column, prefix, text string) {
	if text == "" {
		return
	}
	s.printing.Lock()
	defer s.printing.Unlock()
	if c.end > 0 && c.at != c.to {
		s.endLine(c)
	}
	to, end := s.buffer[:0], c.end
	if end > 0 && c.prefix != prefix {
		to, end = append(to, '\n'), 0
	}
	to, end = appendLines(to, prefix, text, end, width(c.to))
	if s.write(c.to, to) {
		c.at, c.prefix, c.end = c.to, prefix, end
	}
	if cap(to) <= mostHeld { // one long text does not keep its memory
		s.buffer = to
	}
}

// endLine ends a line that is unfinished.
func (s *screen) endLine(c *column) {
	if c.end > 0 && s.write(c.at, []byte{'\n'}) {
		c.end = 0
	}
}

// mostHeld is how many bytes wait for the person's answer. There is no waiting with them: an agent that is not read
// from could not withdraw the question either.
const mostHeld = 1 << 20

// pieceSize is about how many bytes a piece has, without its text.
const pieceSize = 64

// write prints or holds a text, or drops it and returns false: the next text must not continue the line of a dropped
// one.
func (s *screen) write(to io.Writer, text []byte) (written bool) {
	switch {
	case s.over.Load():
		return false
	case !s.holding:
		if _, err := to.Write(text); err != nil && to == s.out.to {
			s.failed(err)
		}
	case s.size+len(text) > mostHeld:
		s.unheld += len(text)
		return false
	default:
		if last := len(s.held) - 1; last >= 0 && s.held[last].to == to {
			s.held[last].text = append(s.held[last].text, text...)
		} else {
			s.held = append(s.held, piece{to, bytes.Clone(text)})
			s.size += pieceSize
		}
		s.size += len(text)
	}
	return true
}

// hold keeps back what is printed, so that nothing an agent writes can pass for the question that the person is asked.
func (s *screen) hold() {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.endLines()
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
		s.write(s.out.to, fmt.Appendf(nil, "\n! %d bytes more came while you were asked\n", s.unheld))
		s.unheld, s.out.end = 0, 0
	}
}

// name returns the beginning of a terminal's lines. It stays known for a while: some agents show a terminal in a tool call
// when they have released it.
func (s *screen) name(id acpterm.TerminalID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name, ok := s.names[id]; ok {
		return name
	}
	return "[unknown terminal]"
}

// finish returns when everything is printed, to the end of the line.
func (s *screen) finish() {
	s.following.Wait()
	s.printing.Lock()
	defer s.printing.Unlock()
	s.endLines()
}

func (s *screen) endLines() {
	s.endLine(s.out)
	s.endLine(s.errors)
}

// end is for when nothing is printed any more but why the client fails. It ends the last line, unless the writer blocks.
func (s *screen) end() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.printing.Lock()
		defer s.printing.Unlock()
		s.endLines()
		s.over.Store(true)
	}()
	select {
	case <-ended:
	case <-time.After(200 * time.Millisecond): // a terminal that blocks shows the reason no better
	}
	s.over.Store(true)
}

// width returns the number of columns of a terminal, and 0 for another writer.
func width(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
