//go:build unix

package remote

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/stretchr/testify/require"
)

func openCommand(t testing.TB, script string) *commandProcess {
	t.Helper()
	leaveNothing(t)
	shell, err := Command{Args: []string{"sh", "-c", script}}.Open(testContext(t))
	require.NoError(t, err)
	t.Cleanup(func() { shell.Close() })
	return shell.(*commandProcess)
}

// readNumber reads a line with a number.
func readNumber(t testing.TB, from io.Reader) int {
	t.Helper()
	var line strings.Builder
	for b := make([]byte, 1); b[0] != '\n'; line.Write(b) {
		_, err := from.Read(b)
		require.NoError(t, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line.String()))
	require.NoError(t, err)
	return n
}

// Read returns all output of the process before its end, even while another process holds its pipes.
func TestCommandOutputBeforeEnd(t *testing.T) {
	want := bytes.Repeat([]byte{'x'}, 60_000)
	for range longtest.Times(10, 50) {
		p := openCommand(t, "sleep 600 & echo $!; head -c 60000 /dev/zero | tr '\\0' x; echo why >&2; exit 3")
		holder := readNumber(t, p)
		<-p.exited.Done()
		text, err := io.ReadAll(p)
		require.Equal(t, want, text)
		require.ErrorIs(t, err, io.EOF)
		require.EqualError(t, err, `sh has ended with exit code 3, standard error "why"`)
		require.NoError(t, p.Close())
		require.NoError(t, syscall.Kill(holder, syscall.SIGKILL), "what it leaves goes on")
	}
}

// These tests mostly wait.
func TestCommandWaits(t *testing.T) {
	atOnce(t, map[string]func(*testing.T){
		"close": testCommandClose, "clean-up": testCommandCleansUp, "no shell": testNoShell,
	})
}

// Close ends a waiting Read and a waiting Write, and the processes that do not end by themselves.
func testCommandClose(t *testing.T) {
	p := openCommand(t, `trap "" TERM HUP; setsid sh -c "trap '' TERM; sleep 600" & echo $!; wait; wait`)
	left := readNumber(t, p)
	read, written := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := p.Read(make([]byte, 1))
		read <- err
	}()
	go func() {
		_, err := p.Write(make([]byte, 1<<20))
		written <- err
	}()
	p.abort()
	require.NoError(t, p.Close())
	require.Error(t, <-read)
	require.Error(t, <-written)
	_, err := p.Write([]byte{'x'})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.True(t, p.exited.IsSet())
	// It may be a zombie until its parent, which does not belong to the test, reaps it.
	require.Eventually(t, func() bool {
		state, _ := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(left)).Output()
		return len(bytes.Trim(state, "Z \n")) == 0
	}, time.Minute, 10*time.Millisecond)
}

// A process that continues after the end of its input can clean up on SIGTERM, with programs that get no signal.
func testCommandCleansUp(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	p := openCommand(t, terminaltest.CleanUp(lock, "TERM"))
	_, err := p.Read(make([]byte, 100))
	require.NoError(t, err)
	p.abort()
	require.NoError(t, p.Close())
	require.EqualValues(t, 7, p.cmd.ProcessState.ExitCode())
	require.NoFileExists(t, lock)
}

// Errors contain only the end of standard error.
func TestCommandStandardError(t *testing.T) {
	p := openCommand(t, "head -c 100000 /dev/zero | tr '\\0' x >&2; echo END >&2; kill -9 $$")
	_, err := p.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.ErrorContains(t, err, `xEND"`)
	require.ErrorContains(t, err, "SIGKILL")
	require.Less(t, len(err.Error()), maxTail+100)
}

// A failed Open leaves nothing behind.
func TestCommandFails(t *testing.T) {
	before := leaktest.Descriptors()
	for _, args := range [][]string{nil, {""}, {"/nonexistent"}, {"/"}, {"a\x00b"}} {
		_, err := Command{Args: args}.Open(t.Context())
		require.Error(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Command{Args: []string{"sh"}}.Open(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, leaktest.Descriptors())
	require.Empty(t, goroutines())
}
