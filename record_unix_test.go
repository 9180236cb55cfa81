//go:build unix

package acpterm_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/stretchr/testify/require"
)

// With a pipe that is full and that is not read, a create waits, and nothing else: terminals that run go on, are read
// and killed, and a cancel ends the wait. Nothing runs before its decision is in the pipe.
func TestSlowDisk(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	log := audit.New(w)
	var waiting chan struct{} // gets a value when a decision is about to be recorded; set before the creates
	m := newManager(t, &acpterm.Options{Record: func(ctx context.Context, e acpterm.Event) error {
		if _, ok := e.(*acpterm.DecisionEvent); ok && waiting != nil {
			waiting <- struct{}{}
		}
		return log.Record(ctx, e)
	}})
	running := create(t, m, childRequest("sleep"))
	awaitOutput(t, running, "ready")

	filled := fill(t, w)
	waiting = make(chan struct{})
	dir := t.TempDir()
	begin := func(ctx context.Context, name string) (file string, done chan error) {
		file, done = filepath.Join(dir, name), make(chan error, 1)
		go func() {
			_, err := m.Create(ctx, childRequest("flood-and-touch", "0", file))
			done <- err
		}()
		<-waiting
		return file, done
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancelled, cancelledDone := begin(ctx, "cancelled")
	slow, slowDone := begin(t.Context(), "slow")

	require.Contains(t, running.Output().Output, "ready")
	require.NoError(t, running.Kill(t.Context()))
	require.NoError(t, m.Release(t.Context(), "s", running.ID()))
	cancel()
	require.ErrorIs(t, <-cancelledDone, acpterm.ErrCancelled)
	require.NoFileExists(t, slow)
	select {
	case err := <-slowDone:
		require.FailNow(t, "a create has not waited for its record", "%v", err)
	default:
	}

	read := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(r)
		read <- data
	}()
	require.NoError(t, <-slowDone)
	for len(m.Terminals()) > 0 {
		_, err := m.Terminals()[0].Wait(t.Context())
		require.NoError(t, err)
		require.NoError(t, m.ReleaseSession(t.Context(), "s"))
	}
	require.NoError(t, m.Close())
	require.NoError(t, log.Close())
	require.NoError(t, w.Close())
	require.FileExists(t, slow)
	require.NoFileExists(t, cancelled)
	lines := auditLines(t, bytes.Replace(<-read, bytes.Repeat([]byte(" "), filled), nil, 1))
	kinds := make(map[string]int)
	for _, line := range lines {
		kinds[line.Msg+" "+line.Verdict+line.EndedBy]++
	}
	require.Equal(t, map[string]int{"decision allow": 3, "end killed": 1, "end finished": 1, "end ": 1}, kinds)
}

// fill writes to a pipe until it is full, and returns how many bytes it wrote.
func fill(t *testing.T, w *os.File) (filled int) {
	t.Helper()
	raw, err := w.SyscallConn()
	require.NoError(t, err)
	for _, size := range []int{os.Getpagesize(), 1} { // a last page may have room for less
		require.NoError(t, raw.Write(func(fd uintptr) bool {
			for {
				n, err := syscall.Write(int(fd), bytes.Repeat([]byte(" "), size))
				if err != nil {
					require.ErrorIs(t, err, syscall.EAGAIN)
					return true
				}
				filled += n
			}
		}))
	}
	return filled
}
