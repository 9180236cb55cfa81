package usershell_test

// The end of a login shell that exits only long after SIGKILL.

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/usershell"
)

// A shell that has got SIGKILL and is held while it exits, here by a tracer, is reported with the failure of its read.
func TestLoginShellThatIsExiting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shell")
	script := "#!/bin/sh\necho $$ >'" + file + ".new'; mv '" + file + ".new' '" + file + ".pid'; while :; do sleep 300; done\n"
	require.NoError(t, os.WriteFile(file, []byte(script), 0o700))
	o := loginOptions(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	traced, release, ended := make(chan error, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the thread is the tracer, and ends with the goroutine
		cancelWhen(file+".pid", func() {})
		said, _ := os.ReadFile(file + ".pid")
		pid, _ := strconv.Atoi(strings.TrimSpace(string(said)))
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, unix.PTRACE_O_TRACEEXIT, 0, 0)
		if errno != 0 {
			traced <- errno
		}
		close(traced)
		cancel()
		<-release
		unix.PtraceDetach(pid)
		unix.Wait4(pid, nil, 0, nil) // no one else does
	}()
	_, err := usershell.LoginEnvironment(ctx, o)
	close(release)
	<-ended
	if err := <-traced; err != nil {
		t.Skip("no process can be traced here: ", err)
	}
	failed := requireLoginError(t, err, usershell.LoginCancelled)
	require.Empty(t, failed.PIDs)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, acpterm.ErrSurvivors)
	require.ErrorContains(t, err, "have been killed, and are exiting")
}
