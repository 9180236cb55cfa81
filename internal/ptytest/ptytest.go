// Package ptytest runs a program on a PTY, and reads the PTY only as fast as a test's terminal emulator shows the
// output. As in a real terminal, the program's writes wait, so the emulator is at most some KiB behind. The PTYs of
// acpterm do not wait for readers. Only tests import ptytest.
package ptytest

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
	"github.com/stretchr/testify/require"
)

// Command is a program to run on a PTY. Env, "NAME=value", is added to this process's environment.
type Command struct {
	Args          []string
	Env           []string
	Dir           string
	Columns, Rows int
}

// Window is a PTY with a program in it. Its methods are safe for concurrent use.
type Window struct {
	tree  *proc.Tree
	ended chan struct{} // closed when exit and exitErr are set

	exit    proc.Exit
	exitErr error

	mu      sync.Mutex // is held while show and the functions passed to Until run
	changed sync.Cond
	over    bool // all output has been shown
}

// Start runs a program, and calls show with each piece of its output, one at a time. When the test ends, Start ends the
// program's process tree.
func Start(t testing.TB, c Command, show func(output []byte)) *Window {
	t.Helper()
	var supervisor proc.Supervisor
	t.Cleanup(supervisor.Close)
	cmd := exec.Command(c.Args[0], c.Args[1:]...) // to look the program up, and to use the last value of a variable
	cmd.Env = append(os.Environ(), c.Env...)
	require.NoError(t, cmd.Err)
	mark := proc.Mark{Name: lookup.TerminalVariable, Value: "window_" + rand.Text()}
	tree, err := supervisor.Start(t.Context(), proc.Spec{
		Path: cmd.Path, Args: c.Args, Dir: c.Dir, Env: lookup.Mark(cmd.Environ(), mark.Value), Mark: mark,
		PTY: &proc.Size{Columns: uint16(c.Columns), Rows: uint16(c.Rows)},
	})
	require.NoError(t, err)
	w := &Window{tree: tree, ended: make(chan struct{})}
	w.changed.L = &w.mu
	tree.OnExit(func(exit proc.Exit, err error) {
		w.exit, w.exitErr = exit, err
		close(w.ended)
	})
	var reading sync.WaitGroup
	reading.Go(func() { w.read(show) })
	t.Cleanup(func() {
		left, doubt := tree.End(context.Background(), syscall.SIGKILL)
		tree.Output().Close()
		reading.Wait()
		tree.Close()
		require.NoError(t, doubt)
		require.Empty(t, left, "processes are left")
	})
	return w
}

// read shows the output until the last process has closed the terminal.
func (w *Window) read(show func([]byte)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := w.tree.Output().Read(buffer)
		w.mu.Lock()
		if n > 0 {
			show(buffer[:n])
		}
		w.over = err != nil
		w.changed.Broadcast()
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Until waits until ok returns true, and reports whether it did. It stops when ctx is done, or when all output has been
// shown and ok is still false. ok is called when there was output, and show is not called meanwhile.
func (w *Window) Until(ctx context.Context, ok func() bool) bool {
	defer context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !ok() {
		if w.over || ctx.Err() != nil {
			return false
		}
		w.changed.Wait()
	}
	return true
}

// Do calls f while nothing is shown.
func (w *Window) Do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// Wait waits until the program has exited and all output has been shown, or until ctx is done.
func (w *Window) Wait(ctx context.Context) (proc.Exit, error) {
	if !w.Until(ctx, func() bool { return w.over }) {
		return proc.Exit{}, context.Cause(ctx)
	}
	select {
	case <-w.ended:
		return w.exit, w.exitErr
	case <-ctx.Done():
		return proc.Exit{}, context.Cause(ctx)
	}
}

// PID returns the program's process ID.
func (w *Window) PID() int { return w.tree.PID() }

// Type writes keys, as if the user had typed them.
func (w *Window) Type(t testing.TB, keys string) {
	t.Helper()
	_, err := w.tree.Write([]byte(keys))
	require.NoError(t, err)
}

// Resize sets the size of the terminal, and then calls f while nothing is shown.
func (w *Window) Resize(t testing.TB, columns, rows int, f func()) {
	t.Helper()
	w.Do(func() {
		f()
		require.NoError(t, w.tree.Resize(proc.Size{Columns: uint16(columns), Rows: uint16(rows)}))
	})
}
