package main

// What the person sees: the agent's text as it is, "* " and a tool call, "! " and why a command was denied, "[1] $ "
// and the first terminal's command, "[1] | " and its output, "[1] ! " and how much of that was missed, "[1] = " and how
// it ended, all with "[agent 1]" if it is a command that the agent runs itself; and "agent: " and what the agent writes
// to standard error.

import (
	"bytes"
	"fmt"
	"io"
	"sync"

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
	names     map[acpterm.TerminalID]string // of all of them, the released ones too

	printing sync.Mutex // not mu: a write may wait for its reader
	buffer   []byte     // what is being printed
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
	if c.unfinished && c.at != c.to {
		s.endLine(c)
	}
	to := s.buffer[:0]
	if c.unfinished && c.prefix != prefix {
		to = append(to, '\n')
		c.unfinished = false
	}
	to = appendLines(to, prefix, text, c.unfinished)
	c.at, c.prefix, c.unfinished = c.to, prefix, to[len(to)-1] != '\n'
	s.write(c.to, to)
	if cap(to) <= mostHeld { // one long text does not keep its memory
		s.buffer = to
	}
}

// endLine ends a line that is unfinished.
func (s *screen) endLine(c *column) {
	if c.unfinished {
		s.write(c.at, []byte{'\n'})
		c.unfinished = false
	}
}

// mostHeld is how many bytes wait for the person's answer. There is no waiting with them: an agent that is not read
// from could not withdraw the question either.
const mostHeld = 1 << 20

func (s *screen) write(to io.Writer, text []byte) {
	switch {
	case !s.holding:
		if _, err := to.Write(text); err != nil && to == s.out.to {
			s.failed(err)
		}
	case s.size+len(text) > mostHeld:
		s.unheld += len(text)
	default:
		s.held = append(s.held, piece{to, bytes.Clone(text)})
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
		s.write(s.out.to, fmt.Appendf(nil, "\n! %d bytes more came while you were asked\n", s.unheld))
		s.unheld, s.out.unfinished = 0, false
	}
}

// name is what a terminal's lines begin with. It stays known: some agents show a terminal in a tool call
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
	s.endLine(s.out)
	s.endLine(s.errors)
}
