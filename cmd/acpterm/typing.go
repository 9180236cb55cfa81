package main

// This file lets the user type into a command on a PTY, for -pty. The command then has the whole terminal, on the
// alternate screen, except for the last row. Other text waits until the user leaves.

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/cancelreader"
)

const (
	typeKey  = 't'    // begins to type into the newest command; a digit, into the command of that number
	leaveKey = '\x1d' // Ctrl-], which telnet and docker attach to a console use, too
)

const leaveText = "Ctrl-] leaves"

// typist reads the user's keys. screen.printing guards its fields, except where they say otherwise.
type typist struct {
	tty    *os.File
	reader cancelreader.CancelReader
	done   chan struct{} // closed when no key is read any more

	target *shownTerminal // receives the user's keys, or nil
	input  chan []byte    // for target
	stop   chan struct{}  // closed when the user leaves target
	undo   func()         // restores the terminal's modes
	drawn  []byte
}

// startTypist reads keys from the user's terminal, if a command is on a PTY.
func (s *screen) startTypist() {
	if s.typist != nil || s.answering || s.newestPTY() == nil {
		return
	}
	tty, err := openTerminal()
	if err != nil {
		return
	}
	reader, err := cancelreader.NewReader(tty)
	if err != nil {
		tty.Close()
		return
	}
	s.typist = &typist{tty: tty, reader: reader, done: make(chan struct{})}
	go s.readKeys(s.typist)
}

// stopTypist stops reading keys, and returns a function that waits for that. s.printing must be held, and not while waiting.
func (s *screen) stopTypist() (wait func()) {
	t := s.typist
	if t == nil {
		return func() {}
	}
	s.leave()
	s.typist = nil
	t.reader.Cancel()
	return func() {
		<-t.done
		t.reader.Close()
		t.tty.Close()
	}
}

// newestPTY returns the newest running command on a PTY, or nil.
func (s *screen) newestPTY() *shownTerminal {
	for i := len(s.running) - 1; i >= 0; i-- {
		if s.running[i].pty != nil {
			return s.running[i]
		}
	}
	return nil
}

// typingHint tells how to type.
func (s *screen) typingHint() string {
	t := s.newestPTY()
	if t == nil || s.typist == nil {
		return ""
	}
	others := ""
	for _, other := range s.running {
		if other != t && other.pty != nil {
			others = ", a digit into another"
		}
	}
	return fmt.Sprintf("acpterm: %c types into %s%s; %s", typeKey, t.name, others, leaveText)
}

// readKeys obeys the user's keys until the reader is cancelled.
func (s *screen) readKeys(t *typist) {
	defer close(t.done)
	for buffer := make([]byte, 1<<10); ; {
		n, err := t.reader.Read(buffer)
		if err != nil {
			return
		}
		s.printing.Lock()
		s.obeyKeys(t, bytes.Clone(buffer[:n]))
		s.printing.Unlock()
	}
}

func (s *screen) obeyKeys(t *typist, keys []byte) {
	if t.target == nil {
		for i, key := range keys {
			if target := s.typingTarget(key); target != nil {
				s.enter(t, target)
				s.obeyKeys(t, keys[i+1:])
				return
			}
		}
		return
	}
	keys, _, leaves := bytes.Cut(keys, []byte{leaveKey})
	if len(keys) > 0 {
		select {
		case t.input <- keys:
		default: // the command does not read, and the user has typed a lot
		}
	}
	if leaves {
		s.leave()
		s.showRows()
	}
}

// typingTarget returns the command that a key chooses, or nil.
func (s *screen) typingTarget(key byte) *shownTerminal {
	if !s.drawn {
		return nil
	}
	if key == typeKey {
		return s.newestPTY()
	}
	for _, t := range s.running {
		if t.pty != nil && t.name == fmt.Sprintf("[%c]", key) {
			return t
		}
	}
	return nil
}

// enter gives the terminal to a command.
func (s *screen) enter(t *typist, target *shownTerminal) {
	s.hideRows()
	s.endLines()
	s.holding = true
	t.target, t.input, t.stop, t.drawn = target, make(chan []byte, 256), make(chan struct{}), nil
	t.undo = passKeys(t.tty)
	s.terminal.WriteString(ansi.SetModeAltScreenSaveCursor)
	columns, rows := size(s.terminal)
	target.resizePTY(columns, max(rows-1, 1))
	go func() {
		for keys := range t.input {
			target.Write(keys)
		}
	}()
	go s.drawTyped(t, t.stop)
}

// leave takes the terminal back from the command, and prints the held text.
func (s *screen) leave() {
	t := s.typist
	if t == nil || t.target == nil {
		return
	}
	target := t.target
	t.target = nil
	close(t.stop)
	close(t.input)
	s.terminal.WriteString(noColours + ansi.ResetModeAltScreenSaveCursor + showCursor)
	t.undo()
	target.resizePTY(s.ptySize())
	s.release()
}

// drawTyped draws the screen of the command that the user types into until stop is closed.
func (s *screen) drawTyped(t *typist, stop <-chan struct{}) {
	const often = 30 * time.Millisecond
	for ticks := time.NewTicker(often); ; {
		s.printing.Lock()
		if t.target == nil || s.over.Load() {
			s.printing.Unlock()
			ticks.Stop()
			return
		}
		columns, rows := size(s.terminal)
		t.target.resizePTY(columns, max(rows-1, 1))
		last := fmt.Sprintf("typing into %s: %s  %s", t.target.name, leaveText, t.target.command)
		last = ansi.Truncate(last, columns-1, "")
		drawn := fmt.Appendf(nil, "%s%s%s\x1b[7m%s%s", hideCursor, ansi.CursorPosition(1, rows), ansi.EraseEntireLine, last, noColours)
		if drawn = append(drawn, t.target.pty.draw()...); !bytes.Equal(drawn, t.drawn) {
			s.terminal.Write(drawn)
			t.drawn = drawn
		}
		s.printing.Unlock()
		select {
		case <-stop:
		case <-ticks.C:
		}
	}
}

// resizePTY changes the size of the command's PTY.
func (t *shownTerminal) resizePTY(columns, rows int) {
	if t.ptyColumns == columns && t.ptyRows == rows {
		return
	}
	t.ptyColumns, t.ptyRows = columns, rows
	t.pty.resize(columns, rows) // first, because the command redraws at once
	t.Resize(columns, rows)     // fails if the command has ended
}
