//go:build linux || darwin || freebsd

package lawtest

// The laws on the Go API that require features of Unix: signals that a command can handle, sh, files that are not
// executable.

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// shellRequest returns a request for a line of sh.
func shellRequest(line string) acpterm.CreateTerminalRequest {
	return hosttest.CommandRequest("/bin/sh", "-c", line)
}

// Another process outside the tree may hold the output, here this process. The release still completes, and leaves that
// process alone.
func TestReleaseDoesNotWaitForAStrangerWhoHoldsTheOutput(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	term := hosttest.Create(t, m, hosttest.CommandRequest("echo $$; exec sleep 3600"))
	hosttest.AwaitOutput(t, term, "\n")
	stranger, err := os.OpenFile(fmt.Sprintf("/proc/%s/fd/1", strings.TrimSpace(term.Output().Output)), os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system has no /proc to open another process's output by")
	}
	require.NoError(t, err)
	defer stranger.Close()
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	_, err = stranger.WriteString("x")
	require.ErrorIs(t, err, syscall.EPIPE, "nobody reads it any more")
	for range term.Follow(t.Context(), 0) { // and this ends
	}
}
