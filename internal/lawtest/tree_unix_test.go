//go:build linux || darwin || freebsd

package lawtest

// Law 3 against the nasty children: after a kill, and after a release, nothing of their trees is left. Pid and start
// time identify the processes.

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/terminaltest"
	"github.com/stretchr/testify/require"
)

// quickly has a short grace period: stubborn children always use all of it.
var quickly = []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 30 * time.Millisecond}}

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
