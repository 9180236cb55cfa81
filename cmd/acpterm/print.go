package main

// This file prints the lines that the user sees. Each begins with its kind, so that no text of an agent or a command
// looks like a line of another kind. On a terminal, a long line has several rows, which begin with the kind and, except
// for messages and output, "| ".
//
//	>          the agent's message
//	*          a tool call, or a permission; the agent's words are in quotes
//	!          why a command was denied
//	[1] $      the first terminal's command
//	[1] |      its output
//	[1] !      the size of missed output
//	[1] =      how it ended, and how long it ran
//	[agent 1]  the same for a command that the agent runs itself, as the agent reports it
//	agent:     the agent's standard error
//	acpterm:   the program itself, on standard error
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

// screen prints text from several sources. It prints each piece as soon as it arrives, and no line has pieces from two
// sources.
//
// All methods are safe for concurrent use.
type screen struct {
	out, errors *column
	colours     bool        // print in colours
	palette     []string    // the colours of commands' names
	failed      func(error) // called if writing to out fails

	following sync.WaitGroup // one for each terminal with unprinted output, and for denials

	mu      sync.Mutex
	counted shownCount
	names   map[acpterm.TerminalID]terminalName // of the newest terminals, including released ones
	named   []acpterm.TerminalID                // keys of names, oldest first
	denied  []string                            // the newest denied commands, from bareCommand

	printing sync.Mutex // separate from mu: a write may wait for its reader
	buffer   []byte     // text being printed
	holding  bool       // a question is open
	held     []piece
	size     int // of held, in bytes
	unheld   int // number of bytes dropped because held was full
	live

	over atomic.Bool // print nothing more
}

// column is standard output or standard error.
type column struct {
	to io.Writer
	*cursor
}

// cursor is the end of the last printed line. On one terminal, both columns share a cursor.
type cursor struct {
	at     io.Writer // the writer of that line, or nil
	prefix string    // prefix of that line
	end    int       // its column; 0 is the beginning of a line
	row    []byte    // its last row, if it is unfinished and on a terminal
}

// piece is text for a writer.
type piece struct {
	to   io.Writer
	text []byte
}

func newScreen(out, errors io.Writer, colours bool, failed func(error)) *screen {
	s := &screen{
		out: &column{out, new(cursor)}, colours: colours, palette: palette(), failed: failed,
		names: make(map[acpterm.TerminalID]terminalName),
	}
	s.errors = &column{errors, s.out.cursor}
	if !isTerminal(out) || !isTerminal(errors) {
		s.errors.cursor = new(cursor)
	}
	return s
}

// print prints a piece of text with prefix before each line. The prefix also identifies the source. A piece continues
// where the previous one ended, unless something else was printed in between.
func (s *screen) print(prefix, text string) { s.printTo(s.out, prefix, harmless(text, dropControls)) }

// tell prints one of the client's own lines on standard error.
func (s *screen) tell(line string) {
	s.printTo(s.errors, "acpterm: ", harmless(line, escapeControls)+"\n")
}

// printError prints a line of the agent's standard error.
func (s *screen) printError(line string) {
	s.printTo(s.errors, "agent: ", harmless(line, escapeControls)+"\n")
}

// printSkipped prints a line from the agent that is not a message.
func (s *screen) printSkipped(line []byte, _ int64, reason string) {
	text := display.Quote(string(line[:min(len(line), mostShown)]), mostShown/6)
	s.printTo(s.errors, "acpterm: ", fmt.Sprintf("skipped a line of the agent's that %s: %s\n", reason, text))
}

// clientLog prints log records about an agent, for example that it writes more to standard error than can be printed.
type clientLog struct{ *screen }

func (l clientLog) Write(line []byte) (int, error) {
	l.printTo(l.errors, "acpterm: ", harmless(string(line), escapeControls))
	return len(line), nil
}

// printTo prints harmless text with one write.
func (s *screen) printTo(c *column, prefix, text string) {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.printLocked(c, prefix, text)
}

// printLocked is printTo for a caller that holds s.printing.
func (s *screen) printLocked(c *column, prefix, text string) {
	if text == "" {
		return
	}
	above := s.drawn && (c == s.out || c.cursor == s.out.cursor) // the rows of running commands
	if c.end > 0 && c.at != c.to && !above {
		s.endLine(c)
	}
	r := rows{to: s.buffer[:0], prefix: prefix, painted: s.paint(prefix), column: c.end, width: width(c.to)}
	if above {
		r.to = append(r.to, eraseBelow...)
	} else {
		r.to = append(r.to, '\r')
	}
	row := len(r.to)
	if r.to = append(r.to, c.row...); !above {
		r.shown = len(r.to)
	}
	if r.column > 0 && c.prefix != prefix {
		r.to, r.column = append(r.to, '\n'), 0
	}
	r.add(text)
	row = max(row, bytes.LastIndexByte(r.to, '\n')+1)
	if above {
		s.out.row = append(s.out.row[:0], r.to[row:]...)
		r.to = s.appendRows(r.to[:row])
	}
	if s.write(c.to, r.to[r.shown:]) {
		c.at, c.prefix, c.end = c.to, prefix, r.column
		if !above && r.width > 0 {
			c.row = append(c.row[:0], r.to[row:]...)
		}
	}
	if cap(r.to) <= mostHeld { // do not keep the memory of one long text
		s.buffer = r.to
	}
}

// endLine ends an unfinished line. The rows of running commands must be hidden.
func (s *screen) endLine(c *column) {
	if c.end > 0 && s.write(c.at, []byte{'\n'}) {
		c.end, c.row = 0, c.row[:0]
	}
}

// mostHeld is the number of bytes held until the user answers. Further text cannot wait: if the client stopped reading
// from the agent, the agent could not withdraw the question either.
const mostHeld = 1 << 20

// pieceSize is the approximate size of a piece without its text, in bytes.
const pieceSize = 64

// write prints or holds text, or drops it and returns false: the next text must not continue a dropped line.
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

// hold keeps back all text, so that an agent's text cannot pass for the question to the user.
func (s *screen) hold() {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.hideRows()
	s.endLines()
	s.holding = true
}

// resume prints the held text.
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
		s.unheld, s.out.end, s.out.row = 0, 0, s.out.row[:0]
	}
	s.showRows()
}

// finish waits until everything is printed, and ends the last line.
func (s *screen) finish() {
	s.following.Wait()
	s.printing.Lock()
	defer s.printing.Unlock()
	s.hideRows()
	for _, call := range s.unshownCalls() {
		s.printLocked(s.out, "* ", call.text+"\n")
	}
	s.endLines()
}

func (s *screen) endLines() {
	s.endLine(s.out)
	s.endLine(s.errors)
}

// end must be called when only the reason for the client's failure remains to be printed. It ends the last line, unless
// the writer blocks.
func (s *screen) end() {
	within(200*time.Millisecond, func() { // a blocked terminal could not show the reason either
		s.printing.Lock()
		defer s.printing.Unlock()
		s.hideRows()
		s.endLines()
		s.over.Store(true)
	})
	s.over.Store(true)
}

// width returns the number of columns of a terminal, or 0 for any other writer.
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
