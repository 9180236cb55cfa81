//go:build linux || darwin || freebsd

package main

// What the user's terminal shows: the text of a PTY as a terminal emulator has it.

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/ptytest"
)

// window is a terminal window with a program in it, which waits for the window to show what it writes.
type window struct {
	*ptytest.Window
	t *testing.T

	// Used by functions passed to until and do, or after exit.
	emulator *vt.Emulator
	raw      strings.Builder // all that was written
	unread   string          // what was written before at and not awaited by answer yet
	at       int
}

// openWindow starts the client in a window. Variables are added to its environment, as NAME=VALUE.
func openWindow(t *testing.T, columns, rows int, variables, agent []string, flags ...string) *window {
	return openWindowWith(t, columns, rows, variables, clientCommand(agent, flags...))
}

func openWindowWith(t *testing.T, columns, rows int, variables, command []string) *window {
	w := &window{t: t, emulator: newEmulator(t, columns, rows)}
	w.Window = ptytest.Start(t, ptytest.Command{
		Args: command, Columns: columns, Rows: rows,
		Env: append([]string{"CI=", "NO_COLOR=", "COLORTERM=", "TERM=xterm-256color"}, variables...),
	}, func(output []byte) {
		w.raw.Write(output)
		w.emulator.Write(output)
	})
	t.Cleanup(func() {
		if t.Failed() {
			w.Do(func() { t.Logf("window:\n%s", strings.Join(w.rows(), "\n")) })
		}
	})
	return w
}

// newEmulator returns an emulator that answers nothing.
func newEmulator(t *testing.T, columns, rows int) *vt.Emulator {
	e := vt.NewEmulator(columns, rows)
	e.SetScrollbackSize(1 << 20)
	go io.Copy(io.Discard, struct{ io.Reader }{e})
	t.Cleanup(func() { e.InputPipe().(io.Closer).Close() })
	return e
}

// rows returns the rows that have scrolled off, and those on the screen.
func (w *window) rows() (rows []string) {
	for _, line := range w.emulator.Scrollback().Lines() {
		rows = append(rows, strings.TrimRight(line.String(), " "))
	}
	for row := range strings.Lines(w.emulator.String()) {
		rows = append(rows, strings.TrimRight(row, " \n"))
	}
	return rows
}

// text returns the rows as one text. The client must have ended.
func (w *window) text() string { return strings.Join(w.rows(), "\n") + "\n" }

// await waits until the rows that the window shows match.
func (w *window) await(pattern string) {
	w.t.Helper()
	expr := regexp.MustCompile(pattern)
	w.until(func() bool { return expr.MatchString(w.emulator.String()) }, pattern)
}

// passed is the time for which a command runs, in its row.
const passed = `(\d+ min )?\d+ s`

// answer waits until a text is written, after those of earlier calls, and types keys.
func (w *window) answer(text, keys string) {
	w.t.Helper()
	w.until(func() bool {
		w.unread, w.at = w.unread+w.raw.String()[w.at:], w.raw.Len()
		w.unread = strings.ReplaceAll(w.unread, "\r\n? "+goesOn, "") // where a row ends depends on how long paths are
		_, after, written := strings.Cut(w.unread, text)
		if written {
			w.unread = after
		}
		return written
	}, text)
	if keys != "" { // otherwise the client may have ended
		w.press(keys)
	}
}

// until waits until the window is in a state.
func (w *window) until(ok func() bool, state string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	require.True(w.t, w.Until(ctx, ok), "the window does not show this: %s", state)
}

// press types keys.
func (w *window) press(keys string) { w.Type(w.t, keys) }

// resize changes the size of the window.
func (w *window) resize(columns, rows int) {
	w.Resize(w.t, columns, rows, func() { w.emulator.Resize(columns, rows) })
}

// exit waits for the end of the client with an exit code, and returns all rows.
func (w *window) exit(code int) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	exit, err := w.Wait(ctx)
	require.NoError(w.t, err)
	require.Empty(w.t, exit.Signal)
	require.EqualValues(w.t, code, exit.Code)
	require.False(w.t, w.emulator.CursorHidden())
	require.False(w.t, w.emulator.IsAltScreen())
	return w.rows()
}
