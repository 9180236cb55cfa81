package usershell_test

// The end of a login shell that exits only long after SIGKILL.

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/usershell"
)

// A shell that has got SIGKILL and is held while it exits is reported with the failure of its read.
func TestLoginShellThatIsExiting(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shell")
	script := "#!/bin/sh\nprintf %s $$ >'" + file + ".new'; mv '" + file + ".new' '" + file + ".pid'; while :; do sleep 300; done\n"
	require.NoError(t, os.WriteFile(file, []byte(script), 0o700))
	o := loginOptions(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel() // if HoldExit skips the test
	var err error
	reading.Go(func() { _, err = usershell.LoginEnvironment(ctx, o) })
	cancelWhen(file+".pid", func() {})
	pid := hosttest.Number(string(hosttest.Must(os.ReadFile(file + ".pid"))))
	release := linuxtest.HoldExit(t, pid)
	cancel()
	reading.Wait()
	release()
	unix.Wait4(pid, nil, 0, nil) // no one else does
	failed := requireLoginError(t, err, usershell.LoginCancelled)
	require.Empty(t, failed.PIDs)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, acpterm.ErrSurvivors)
	require.ErrorContains(t, err, "have been killed, and are exiting")
}
