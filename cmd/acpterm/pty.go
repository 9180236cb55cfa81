package main

// This file shows commands on a PTY, for -pty. A terminal emulator draws the screen of the command. Its rows are printed
// when they cannot change any more: when they have scrolled off the screen, at the end, or, as long as the command has
// only printed lines, when the cursor is below them.

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/display"
)

const (
	// nameWidth is the number of columns kept free for the name before each row.
	nameWidth = len("[100] | ")
	// mostRepeated limits the sequences that repeat or erase characters, move or erase rows, or move between tab stops.
	mostRepeated = 1000
)

// ptyOptions returns the PTY of the next command.
func (s *screen) ptyOptions() *acpterm.PTYOptions {
	columns, rows := s.ptySize()
	return &acpterm.PTYOptions{Columns: columns, Rows: rows, Attended: s.attended}
}

// ptySize returns the size of PTYs whose rows are printed.
func (s *screen) ptySize() (columns, rows int) {
	columns, rows = size(os.Stdout)
	return max(columns-nameWidth, 1), max(rows-1, 1)
}

// ptyScreen is the screen of a command on a PTY. It is safe for concurrent use.
type ptyScreen struct {
	colours bool
	answers io.Writer // to queries of the command, or nil

	mu       sync.Mutex
	emulator *vt.Emulator
	printed  []string // the first rows of the screen, as printed; more may have scrolled off
	waiting  string   // rows that scrolled off because the screen was made smaller, and are not printed yet
	redrawn  bool     // the command has moved the cursor up

	movedUp bool // by the last change of the cursor, which was
	from    uv.Position
}

// newPTYScreen returns the screen of a terminal. It writes the answers to the command's queries, for example for the
// position of the cursor, to answers, which may be nil.
func newPTYScreen(columns, rows int, colours bool, answers io.Writer) *ptyScreen {
	p := &ptyScreen{colours: colours, answers: answers}
	p.begin(columns, rows)
	return p
}

// begin begins with an empty screen.
func (p *ptyScreen) begin(columns, rows int) {
	p.emulator, p.printed = vt.NewEmulator(columns, rows), nil
	p.emulator.SetCallbacks(vt.Callbacks{CursorPosition: p.cursorMoved})
	for _, final := range "@ILMPSTXZb" { // each takes time in proportion to its number
		p.emulator.RegisterCsiHandler(int(final), func(params ansi.Params) bool {
			n, _, _ := params.Param(0, 1)
			return n > mostRepeated // ignored
		})
	}
	go answer(p.emulator, p.answers)
}

// close ends the goroutine of begin. Emulator.Close would race with it.
func (p *ptyScreen) close() { p.emulator.InputPipe().(io.Closer).Close() }

// write writes to the emulator. If the emulator panics, as some versions do for senseless sequences, write begins with
// an empty screen.
func (p *ptyScreen) write(text string) {
	columns, rows := p.emulator.Width(), p.emulator.Height()
	defer func() {
		if recover() != nil {
			p.close()
			p.begin(columns, rows)
			p.waiting += fmt.Sprintf("(%d bytes could not be drawn)\n", len(text))
		}
	}()
	p.emulator.WriteString(text)
}

// cursorMoved notices that the command moves the cursor up. To scroll, the emulator moves it to the top and back.
func (p *ptyScreen) cursorMoved(before, after uv.Position) {
	if p.emulator.IsAltScreen() {
		return
	}
	p.redrawn = p.redrawn || p.movedUp && after != p.from
	if p.movedUp = after.Y < before.Y; p.movedUp {
		p.from = before
	}
}

// answer copies answers until the emulator is closed. It drops some if the command does not read.
func answer(from *vt.Emulator, to io.Writer) {
	waiting := make(chan []byte, 16)
	defer close(waiting)
	go func() {
		for text := range waiting {
			if to != nil {
				to.Write(text)
			}
		}
	}()
	for buffer := make([]byte, 256); ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		select {
		case waiting <- append([]byte(nil), buffer[:n]...):
		default:
		}
	}
}

// add writes output of the command to the screen, and returns the rows that will not change.
func (p *ptyScreen) add(text string) (lines string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(text)
	p.redrawn = p.redrawn || p.movedUp
	var b strings.Builder
	if p.emulator.IsAltScreen() {
		return ""
	}
	b.WriteString(p.waiting)
	p.waiting = ""
	p.takeScrolled(&b)
	if !p.redrawn {
		for _, row := range p.rows()[len(p.printed):max(p.emulator.CursorPosition().Y, len(p.printed))] {
			b.WriteString(row + "\n")
			p.printed = append(p.printed, row)
		}
	}
	return b.String()
}

// takeScrolled writes the rows that scrolled off, except those printed before.
func (p *ptyScreen) takeScrolled(b *strings.Builder) {
	for _, line := range p.emulator.Scrollback().Lines() {
		row := p.harmless(line.Render())
		if len(p.printed) == 0 || p.printed[0] != row {
			b.WriteString(row + "\n")
		}
		if len(p.printed) > 0 {
			p.printed = p.printed[1:]
		}
	}
	p.emulator.ClearScrollback()
}

// rows returns the rows of the screen.
func (p *ptyScreen) rows() []string {
	rows := strings.Split(p.emulator.Render(), "\n")
	for i, row := range rows {
		rows[i] = p.harmless(row)
	}
	return rows
}

// harmless returns a row without escape sequences, except colours.
func (p *ptyScreen) harmless(row string) string {
	stripper := display.ANSIStripper{KeepColours: p.colours}
	controls := dropControls
	if p.colours {
		controls = keepColours
	}
	return strings.TrimRight(harmless(stripper.Strip(row), controls), " ")
}

// unfinished returns the row of the cursor, or the last one with text above it.
func (p *ptyScreen) unfinished() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	rows, first := p.rows(), len(p.printed)
	if p.emulator.IsAltScreen() {
		first = 0
	}
	for y := min(p.emulator.CursorPosition().Y, len(rows)-1); y >= first; y-- {
		if rows[y] != "" {
			return rows[y]
		}
	}
	return ""
}

// end returns the rows not printed yet, and those changed since.
func (p *ptyScreen) end() (lines string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.close()
	p.write("\x1b[?1049l") // which an interrupted program may have left out
	var b strings.Builder
	b.WriteString(p.waiting)
	p.takeScrolled(&b)
	rows := p.rows()
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	for y, row := range rows {
		if y >= len(p.printed) || p.printed[y] != row {
			b.WriteString(row + "\n")
		}
	}
	return b.String()
}

// resize changes the size of the screen.
func (p *ptyScreen) resize(columns, rows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, redrawn := p.emulator.CursorPosition(), p.redrawn
	if off := at.Y - (rows - 1); off > 0 { // the emulator would drop these rows
		last := ansi.CursorPosition(1, p.emulator.Height())
		p.write(last + strings.Repeat("\n", off) + ansi.CursorPosition(at.X+1, at.Y-off+1))
	}
	var b strings.Builder
	p.takeScrolled(&b)
	p.waiting += b.String()
	p.emulator.Resize(columns, rows)
	p.printed = p.printed[:min(len(p.printed), rows)]
	p.redrawn, p.movedUp = redrawn, false
	for y, row := range p.rows()[:len(p.printed)] {
		p.printed[y] = row // without its end, on a smaller screen
	}
}

// draw returns sequences that draw the screen at the top left of the user's terminal, and place the cursor.
func (p *ptyScreen) draw() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	var drawn []byte
	for y, row := range p.rows() {
		drawn = append(append(drawn, ansi.CursorPosition(1, y+1)+ansi.EraseEntireLine...), row...)
	}
	at := p.emulator.CursorPosition()
	drawn = append(drawn, ansi.CursorPosition(at.X+1, at.Y+1)...)
	if p.emulator.CursorHidden() {
		return append(drawn, hideCursor...)
	}
	return append(drawn, showCursor...)
}
