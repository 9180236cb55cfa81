package main

// This file keeps the last rows of the user's terminal up to date while commands run: one for each command, with its
// unfinished line or else its command line, and how long it has been running. Tool calls that go on, and whose command
// no terminal shows, have rows above them. Text is printed above these rows. They are removed before questions and at
// the end, and nothing of them stays.
//
// The cursor rests, hidden, at the beginning of the first of these rows. If the user changes the size of the terminal,
// the terminal may break the rows again, but the cursor stays there, so everything below it can be erased. The rows are
// redrawn ten times per second if they have changed.

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

const (
	refresh     = 100 * time.Millisecond
	leastIdle   = 5 * time.Second // before a row says that its command is idle
	mostRunning = 6               // rows for commands; one more says how many others are running
	mostCalls   = 3               // rows for tool calls
	mostFooter  = 3               // rows that the address of the page may take
	timeWidth   = 30              // terminals with fewer columns show no times
)

// Sequences for the user's terminal.
const (
	eraseBelow = "\x1b[J"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	noWrap     = "\x1b[?7l" // cut rows that are too long because the terminal has just become smaller
	wrap       = "\x1b[?7h"
)

// live holds the rows of running commands. screen.printing guards its fields.
type live struct {
	terminal *os.File         // nil if running commands have no rows
	running  []*shownTerminal // oldest first
	calls    []callRow        // the tool calls that go on, oldest first
	page     string           // the address of the live page, or ""
	drawn    bool
	shown    []byte // the rows as last drawn
	stop     chan struct{}
	echo     func() // shows the user's keys again

	columns, rows int // the terminal's size when they were last drawn
}

// callRow is the row of a tool call.
type callRow struct {
	calledCommand
	text string // describes it
}

// wantLive reports whether running commands have rows at the bottom of out.
func wantLive(out *os.File) bool {
	return os.Getenv("CI") == "" && wantColours(out)
}

// goLive gives running commands rows at the bottom of the terminal. The screen must print to it.
func (s *screen) goLive(terminal *os.File) {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.terminal = terminal
	onSuspend(func() {
		s.printing.Lock()
		defer s.printing.Unlock()
		s.hideRows()
	}, func() {
		s.printing.Lock()
		defer s.printing.Unlock()
		s.showRows()
	})
}

// setPage sets the address of the live page, or "". It is shown in the last row and with questions.
func (s *screen) setPage(url string) {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.page = url
}

// pageLine returns a line with the address of the live page, or "".
func (s *screen) pageLine(prefix string) string {
	s.printing.Lock()
	defer s.printing.Unlock()
	if s.page == "" {
		return ""
	}
	return prefix + "watch at " + s.page + "\n"
}

// begin adds a running command.
func (s *screen) begin(t *shownTerminal) {
	s.printing.Lock()
	defer s.printing.Unlock()
	s.running = append(s.running, t)
	s.showRows()
}

// showCalls shows the rows of the tool calls that go on. It returns false if they have none.
func (s *screen) showCalls(calls iter.Seq[callRow]) bool {
	s.printing.Lock()
	defer s.printing.Unlock()
	if s.terminal == nil {
		return false
	}
	if s.calls = slices.Collect(calls); !s.wantRows() {
		s.hideRows()
	}
	s.showRows()
	return true
}

// unshownCalls returns the tool calls that go on and that no terminal shows.
func (s *screen) unshownCalls() (calls []callRow) {
	for _, call := range s.calls {
		if !s.shows(call.calledCommand) {
			calls = append(calls, call)
		}
	}
	return calls
}

// wantRows reports whether there is something to show in rows.
func (s *screen) wantRows() bool { return len(s.running) > 0 || len(s.unshownCalls()) > 0 }

// showRows shows the rows, or redraws them.
func (s *screen) showRows() {
	if s.terminal == nil || s.holding || s.over.Load() || !s.wantRows() {
		return
	}
	if !s.drawn {
		s.endLines()
		s.echo = hideTyping(s.terminal)
		s.stop = make(chan struct{})
		go s.refreshRows(s.stop)
		s.drawn = true
		s.terminal.WriteString(hideCursor)
	}
	s.terminal.Write(s.appendRows([]byte(eraseBelow)))
}

// hideRows removes the rows. The agent's unfinished line stays.
func (s *screen) hideRows() {
	if !s.drawn {
		return
	}
	s.drawn = false
	close(s.stop)
	s.echo()
	s.terminal.WriteString(eraseBelow + string(s.out.row) + showCursor)
}

// refreshRows redraws the rows when they change, until stop is closed.
func (s *screen) refreshRows(stop <-chan struct{}) {
	ticks := time.NewTicker(refresh)
	defer ticks.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticks.C:
		}
		s.printing.Lock()
		if s.drawn && !s.over.Load() {
			s.redraw()
		}
		s.printing.Unlock()
	}
}

// redraw draws the rows if they have changed.
func (s *screen) redraw() {
	before, columns, rows := bytes.Clone(s.shown), s.columns, s.rows
	drawn := s.appendRows([]byte(eraseBelow))
	if columns != s.columns || rows != s.rows || !bytes.Equal(before, s.shown) {
		s.terminal.Write(drawn)
	}
}

// appendRows appends the rows, and moves the cursor to the beginning of the first.
func (s *screen) appendRows(to []byte) []byte {
	s.columns, s.rows = 80, 24
	if columns, rows, err := term.GetSize(int(s.terminal.Fd())); err == nil && columns > 0 && rows > 0 {
		s.columns, s.rows = columns, rows
	}
	rows := [][]byte{}
	if len(s.out.row) > 0 { // of an unfinished line
		rows = append(rows, s.out.row)
	}
	calls := s.unshownCalls()
	for _, call := range calls[max(0, len(calls)-mostCalls):] {
		rows = append(rows, []byte(ansi.Truncate("* "+call.text, s.columns-1, "…")))
	}
	most := min(mostRunning, max(1, s.rows-len(rows)-mostFooter-2))
	first := max(0, len(s.running)-most) // the newest commands are the most interesting
	for _, t := range s.running[first:] {
		rows = append(rows, t.row(s.columns-1))
	}
	if first > 0 {
		rows = append(rows, fmt.Appendf(nil, "acpterm: %d more are running", first))
	}
	if s.page != "" {
		rows = append(rows, breakRows("acpterm: watch at "+s.page, s.columns-1)...)
	}
	rows = rows[:min(len(rows), max(1, s.rows-1))]
	s.shown = append(s.shown[:0], bytes.Join(rows, []byte("\n"))...)
	to = append(append(append(to, noWrap...), s.shown...), wrap...)
	to = append(to, '\r')
	if len(rows) > 1 {
		to = fmt.Appendf(to, "\x1b[%dA", len(rows)-1)
	}
	return to
}

// row describes the running command in at most as many columns.
func (t *shownTerminal) row(columns int) []byte {
	prefix, text := t.name+" | ", t.unfinished
	if text == "" {
		prefix, text = t.name+" $ ", t.command
	}
	passed := ""
	if columns >= timeWidth {
		passed = " " + inWords(time.Since(t.began).Truncate(time.Second))
	}
	switch {
	case columns < 2*timeWidth:
	case t.waits:
		passed = " waits for input" + passed
	case !t.idle.IsZero() && time.Since(t.idle) >= leastIdle:
		passed = " idle" + passed
	}
	// The terminal may need fewer or more columns for the text. It does not wrap the row.
	room := max(0, columns-len(prefix)-len(passed))
	row := append([]byte(t.screen.paint(prefix)), ansi.Truncate(strings.ReplaceAll(text, "\t", " "), room, "…")...)
	return fmt.Appendf(row, noColours+"\x1b[%dG%s", columns-len(passed)+1, passed)
}

// breakRows breaks ASCII text into rows.
func breakRows(text string, columns int) (rows [][]byte) {
	for row := range slices.Chunk([]byte(text), max(1, columns)) {
		rows = append(rows, row)
	}
	return rows[:min(len(rows), mostFooter)]
}
