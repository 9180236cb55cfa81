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
	"github.com/stretchr/testify/require"
)

// With a pipe that is full and that is not read, a create waits, and nothing else: terminals that run go on, are read
// and killed, and a cancel ends the wait. Nothing runs before its decision is in the pipe.
func TestSlowDisk(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	audit := acpterm.NewAudit(w)
	var waiting chan struct{} // gets a value when a decision is about to be recorded; set before the creates
	m := newManager(t, &acpterm.Options{Record: func(ctx context.Context, e acpterm.Event) error {
		if _, ok := e.(*acpterm.DecisionEvent); ok && waiting != nil {
			waiting <- struct{}{}
		}
		return audit.Record(ctx, e)
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
	require.NoError(t, audit.Close())
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

// A file that was there is kept from others, or refused.
func TestOpenAuditKeepsOthersOut(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "open")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o666))
	audit, err := acpterm.OpenAudit(path)
	require.NoError(t, err)
	require.NoError(t, audit.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	refused := func(path, why string) {
		t.Helper()
		audit, err := acpterm.OpenAudit(path)
		require.Nil(t, audit)
		require.ErrorContains(t, err, why)
	}
	require.NoError(t, os.Link(path, filepath.Join(dir, "link")))
	refused(path, "another hard link")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	refused(filepath.Join(dir, "fifo"), "") // it has no reader
	before, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	refused(os.DevNull, "not a regular file")
	after, err := os.Stat(os.DevNull)
	require.NoError(t, err)
	require.Equal(t, before.Mode(), after.Mode())
	if os.Geteuid() == 0 {
		other := filepath.Join(dir, "other")
		require.NoError(t, os.WriteFile(other, nil, 0o600))
		require.NoError(t, os.Chown(other, 1, 1))
		refused(other, "belongs to another user")
	}
}

// Whatever links a path or a root goes through, it is where it leads that counts; and a link in a root can be changed.
func TestOpenAuditInARootByLinks(t *testing.T) {
	dir := t.TempDir()
	root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
	for _, d := range []string{root, state} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	for name, target := range map[string]string{
		"to-root": root, "state/file-in-root": filepath.Join(root, "file"),
		"root/to-state": state, "root/file-in-state": filepath.Join(state, "file"),
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for _, path := range []string{
		"to-root/file", "root/file", "state/file-in-root", "root/file-in-state", "root/to-state/file",
	} {
		for _, name := range []string{"root", "to-root"} {
			_, err := acpterm.OpenAudit(filepath.Join(dir, path), filepath.Join(dir, name))
			require.Error(t, err, path)
			require.NoFileExists(t, filepath.Join(root, "file"))
			require.NoFileExists(t, filepath.Join(state, "file"))
		}
	}
	require.NoError(t, os.Symlink(filepath.Join(state, "file"), filepath.Join(dir, "to-file")))
	require.NoError(t, os.WriteFile(filepath.Join(state, "file"), nil, 0o600))
	audit, err := acpterm.OpenAudit(filepath.Join(dir, "to-file"), filepath.Join(dir, "to-root"))
	require.NoError(t, err)
	require.NoError(t, audit.Close())
}
