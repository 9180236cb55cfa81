//go:build linux || darwin || freebsd

package main

// What the user's terminal shows: the text of a PTY as a terminal emulator has it.

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// window is a terminal window with a program in it.
type window struct {
	*acpterm.Terminal
	t        *testing.T
	emulator *vt.Emulator
	at       int64
}

// openWindow starts the client in a window. Variables are added to its environment, as NAME=VALUE.
func openWindow(t *testing.T, columns, rows int, variables, agent []string, flags ...string) *window {
	return openWindowWith(t, columns, rows, variables, clientCommand(agent, flags...))
}

func openWindowWith(t *testing.T, columns, rows int, variables, command []string) *window {
	m, err := acpterm.NewManager(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	req := acpterm.CreateTerminalRequest{SessionID: "s", Command: command[0], Args: command[1:]}
	for _, v := range append([]string{"CI=", "NO_COLOR=", "COLORTERM=", "TERM=xterm-256color"}, variables...) {
		name, value, _ := strings.Cut(v, "=")
		req.Env = append(req.Env, acpterm.EnvVariable{Name: name, Value: value})
	}
	term, err := m.Create(t.Context(), req, &acpterm.CommandOptions{
		FollowBytes: 16 << 20, PTY: &acpterm.PTYOptions{Columns: columns, Rows: rows, Attended: true},
	})
	require.NoError(t, err)
	w := &window{Terminal: term, t: t, emulator: newEmulator(columns, rows)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("window:\n%s", strings.Join(w.rows(), "\n"))
		}
	})
	return w
}

// newEmulator returns an emulator that answers nothing.
func newEmulator(columns, rows int) *vt.Emulator {
	e := vt.NewEmulator(columns, rows)
	e.SetScrollbackSize(1 << 20)
	go io.Copy(io.Discard, struct{ io.Reader }{e})
	return e
}

// rows returns the rows that have scrolled off, and those on the screen.
func (w *window) rows() []string { return rowsOf(w.emulator) }

func rowsOf(e *vt.Emulator) (rows []string) {
	for _, line := range e.Scrollback().Lines() {
		rows = append(rows, strings.TrimRight(line.String(), " "))
	}
	for row := range strings.Lines(e.String()) {
		rows = append(rows, strings.TrimRight(row, " \n"))
	}
	return rows
}

// await waits until the rows that the window shows match.
func (w *window) await(pattern string) {
	w.t.Helper()
	expr := regexp.MustCompile(pattern)
	w.until(func() bool { return expr.MatchString(w.emulator.String()) }, pattern)
}

// until waits until the window is in a state.
func (w *window) until(ok func() bool, state string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute) // far more than any test needs
	defer cancel()
	for chunk := range w.Follow(ctx, w.at) {
		w.emulator.WriteString(chunk.Raw)
		if w.at = chunk.End; ok() {
			return
		}
	}
	require.FailNow(w.t, "the window does not show this", state)
}

// press types keys.
func (w *window) press(keys string) {
	_, err := w.Write([]byte(keys))
	require.NoError(w.t, err)
}

// resize changes the size of the window.
func (w *window) resize(columns, rows int) {
	w.emulator.Resize(columns, rows)
	require.NoError(w.t, w.Resize(columns, rows))
}

// exit waits for the end of the client with an exit code, and returns all rows.
func (w *window) exit(code int) []string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for chunk := range w.Follow(ctx, w.at) {
		w.emulator.WriteString(chunk.Raw)
		w.at = chunk.End
	}
	status, err := w.Wait(ctx)
	require.NoError(w.t, err)
	require.NotNil(w.t, status.ExitCode)
	require.EqualValues(w.t, code, *status.ExitCode)
	require.False(w.t, w.emulator.CursorHidden())
	require.False(w.t, w.emulator.IsAltScreen())
	return w.rows()
}

// file returns the name of a file that does not exist yet, and a function that makes it.
func file(t *testing.T) (name string, create func()) {
	name = filepath.Join(t.TempDir(), "go-on")
	return name, func() { require.NoError(t, os.WriteFile(name, nil, 0o600)) }
}
