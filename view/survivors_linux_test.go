package view_test

// Stops that leave processes.

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// A page that has stopped a command tells of a killed process that does not exit, and can stop it again, also after
// the end of the command itself.
func TestExitingProcessesAreShown(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{
		Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGKILL, Wait: 2 * time.Second}},
	}})
	v := newViewer(t, m, view.Options{AllowStop: true})
	terminal := v.create("s", "/bin/sh", "-c", "sleep 300 & echo $!; wait")
	s := v.open(output(terminal), "")
	text, _, _ := s.text(func(text string) bool { return strings.Contains(text, "\n") })
	var pid int
	_, err := fmt.Sscan(text, &pid)
	require.NoError(t, err)
	release := linuxtest.HoldExit(t, pid)
	why := fmt.Sprintf(`processes \[(\d+ )*%d( \d+)*\] have been killed, and are exiting`, pid)

	require.Equal(t, http.StatusAccepted, v.stop(keyOf(terminal)))
	row := s.row(func(r tableRow) bool { return r.Ended != 0 && !r.Stopping })
	require.Regexp(t, why, row.StopError) // beside a load, maybe with the shell or another process that is in execve
	require.True(t, row.CanStop)
	require.Empty(t, row.Survivors)

	release()
	require.Equal(t, http.StatusAccepted, v.stop(keyOf(terminal)))
	require.Empty(t, s.row(func(r tableRow) bool { return !r.Stopping && !r.CanStop }).StopError)
}
