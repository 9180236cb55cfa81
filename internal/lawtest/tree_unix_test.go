//go:build linux || darwin || freebsd

package lawtest

// Law 3 against the nasty children: after a kill, and after a release, nothing of their trees is left. Pid and start
// time identify the processes. And a stranger, who is not of the tree, delays no release.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/stretchr/testify/require"
)

var quickly = terminaltest.Quickly

// This system keeps the promises of a Runner, too.
func TestHereAsARunner(t *testing.T) {
	gaps := acptermtest.RunnerGaps{Daemons: true, Limits: []string{
		"CPUTime", "Memory", "Processes", "OpenFiles", "FileSize", "Nice",
	}}
	switch {
	case runtime.GOOS == "linux" && os.Getuid() == 0:
		gaps = acptermtest.RunnerGaps{Limits: []string{"Processes"}} // the rlimit does not apply to root
	case runtime.GOOS == "linux":
		gaps = acptermtest.RunnerGaps{}
	}
	acptermtest.TestRunner(t, func(testing.TB) acpterm.Runner { return nil }, &gaps)
}

func TestAShellWithJobControl(t *testing.T) {
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: quickly}})
	term := hosttest.Create(t, m, hosttest.CommandRequest(bash, "-c", "set -m; (trap '' TERM; sleep 3600) & echo $!; sleep 3600 & "+
		"echo $!; (sleep 3600 | sleep 3600) & echo $!; echo $$; echo ready; wait"))
	tree := here().Said(t, term)
	require.Len(t, tree, 4)
	require.NoError(t, term.Kill(t.Context()))
	here().RequireGone(t, tree)
}

// trees sets how processes are examined here.
func trees(p *terminaltest.Place) {
	p.Nasty, p.InTime = nasty, inTime
	p.Process = func(pid int) (state, started string) { return stateOf(pid), hosttest.StartTime(pid) }
}

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
