package acpterm

// PTYs: their options, size, and the plain text that an agent reads. stdin.go has the keyboard input.

import (
	"cmp"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/acpterm/acpterm/internal/screen"
)

// PTYOptions configures a PTY (pseudo-terminal), which becomes the command's controlling terminal and its standard
// input, output and error, as if the command had been started in a terminal window. The zero value is ready to use.
//
// On a PTY, Terminal.Follow returns the raw bytes written by the command or, on Windows, by the system's console. The
// agent sees the plain text of Terminal.Output.
type PTYOptions struct {
	// Columns and Rows specify the size in characters, up to 1000 each. The default is 80 columns and 24 rows.
	Columns, Rows int
	// Term is the value of the TERM environment variable. The default is "xterm-256color".
	Term string
	// Attended indicates that a user is watching the output and can respond using Terminal.Write. If set,
	// CommandOptions.Unattended is ignored, so pagers, editors and prompts respect CommandOptions.Env.
	Attended bool
}

const maxPTYSize = 1000

// validate returns an error for invalid options, which are the value of field.
func (p *PTYOptions) validate(field string) error {
	switch {
	case p == nil:
		return nil
	case p.Columns < 0 || p.Columns > maxPTYSize || p.Rows < 0 || p.Rows > maxPTYSize:
		return optionError(field, fmt.Sprintf("must have Columns and Rows from 0 to %d", maxPTYSize))
	case hasNUL(p.Term):
		return optionError(field, "must not contain NUL in Term")
	}
	return nil
}

// size returns the size with the defaults.
func (p *PTYOptions) size() TerminalSize {
	return TerminalSize{Columns: cmp.Or(p.Columns, 80), Rows: cmp.Or(p.Rows, 24)}
}

func (t *Terminal) pty() proc.Console {
	if c, ok := t.behind().(proc.Console); ok {
		return c
	}
	return proc.NoConsole{}
}

// HasPTY reports whether the command runs on a PTY.
func (t *Terminal) HasPTY() bool { return t.store.size() != nil }

// Resize sets the size of the PTY in characters, notifies the foreground programs and sends a ResizeEvent. If columns
// or rows is not in the range 1 to 1000, it returns ErrInvalidParams. Any other error is the same as for Write.
func (t *Terminal) Resize(columns, rows int) error {
	fail := func(e *Error) error {
		e.Op, e.SessionID, e.TerminalID = "resize", t.SessionID(), t.id
		return e
	}
	switch {
	case columns < 1 || columns > maxPTYSize:
		return fail(invalidField("columns", fmt.Sprintf("must be from 1 to %d", maxPTYSize)))
	case rows < 1 || rows > maxPTYSize:
		return fail(invalidField("rows", fmt.Sprintf("must be from 1 to %d", maxPTYSize)))
	}
	<-t.started.Done()
	size := TerminalSize{Columns: columns, Rows: rows}
	if err := t.store.resize(size, t.pty().Resize); err != nil {
		return fail(&Error{Kind: ErrInternal, Err: err})
	}
	t.events.emit(&ResizeEvent{Subject: t.subject(), Time: time.Now(), Size: size})
	return nil
}

// screenStore shows the text on the screen of a PTY.
type screenStore struct {
	byteStore
	screen   *screen.Screen
	roomMax  int64
	reserved []byte      // what Reserve returned
	ended    atomic.Bool // the command has
	resizing sync.Mutex  // held while the size is changed, which does not wait
}

func newScreenStore(l outputLimits, size TerminalSize) *screenStore {
	s := &screenStore{
		byteStore: byteStore{output.New(l.kept, 0), l},
		screen:    screen.New(size.Columns, size.Rows, l.last, l.head),
	}
	s.roomMax = s.Room() + l.last + l.head + int64(size.Columns)*int64(size.Rows)*screen.CellBytes
	return s
}

func (s *screenStore) Reserve(n int) []byte {
	s.reserved = s.Buffer.Reserve(n)
	return s.reserved
}

// Commit writes to the screen first to ensure that Terminal.Output includes all bytes already seen by followers.
func (s *screenStore) Commit(n int) {
	s.screen.Write(s.reserved[:n])
	s.Buffer.Commit(n)
}

func (s *screenStore) room() int64                      { return s.roomMax }
func (s *screenStore) text() (text string, start int64) { return s.screen.Text() }
func (s *screenStore) polled() *output.Buffer           { return nil }

func (s *screenStore) head(limit int64) (text string, end int64) {
	text = s.screen.Head(limit)
	return text, int64(len(text))
}

func (s *screenStore) commandEnded() {
	s.ended.Store(true)
	s.CommandEnded()
	s.screen.Finish()
}

func (s *screenStore) size() *TerminalSize {
	columns, rows := s.screen.Size()
	return &TerminalSize{columns, rows}
}

func (s *screenStore) resize(to TerminalSize, tell func(proc.Size) error) error {
	s.resizing.Lock()
	defer s.resizing.Unlock()
	if s.ended.Load() {
		return os.ErrClosed
	}
	columns, rows := s.screen.Size()
	s.screen.Resize(to.Columns, to.Rows) // first, because programs redraw as soon as the system tells them
	err := tell(proc.Size{Columns: uint16(to.Columns), Rows: uint16(to.Rows)})
	if err != nil {
		s.screen.Resize(columns, rows)
	}
	return err
}
