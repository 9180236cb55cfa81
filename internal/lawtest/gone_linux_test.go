package lawtest

// Terminal.Gone with processes that execute other programs, detach themselves, or are in a cgroup.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/stretchr/testify/require"
)

// files returns the names of files, and a function that creates the next.
func files(t *testing.T, n int) (names []string, create func()) {
	dir := t.TempDir()
	for i := range n {
		names = append(names, filepath.Join(dir, fmt.Sprint(i)))
	}
	created := 0
	return names, func() {
		require.NoError(t, os.WriteFile(names[created], nil, 0o600))
		created++
	}
}

// await is a line of sh that waits for a file.
const await = `until test -e %s; do sleep 0.01; done`

// A process that executes another program, even many times and in another session, stays the same process.
func TestGoneAfterAnotherExec(t *testing.T) {
	for name, start := range map[string]string{
		"in the session":         "sh",
		"in a session":           "setsid sh",
		"with another main task": "setsid setsid sh",
	} {
		t.Run(name, func(t *testing.T) {
			m := hosttest.NewManager(t, nil)
			names, create := files(t, 2)
			inner := fmt.Sprintf(`exec sh -c "exec sh -c \"`+await+`\""`, names[1])
			line := fmt.Sprintf(`%s -c '`+await+`; %s' <&- >/dev/null 2>&1 & echo ready`, start, names[0], inner)
			term := hosttest.Create(t, m, shellRequest(line))
			gone := term.Gone()
			require.True(t, hosttest.AwaitExit(t, term).Success())
			create()
			require.False(t, latch.IsClosed(gone))
			create()
			<-gone
		})
	}
}

// A command that executes other programs is the same command. What it started before is in its tree, in each session.
func TestGoneOfACommandThatExecutesAnother(t *testing.T) {
	for _, child := range []string{"sh", "setsid sh"} {
		t.Run(child, func(t *testing.T) {
			m := hosttest.NewManager(t, nil)
			names, create := files(t, 2)
			left := fmt.Sprintf(`%s -c '`+await+`' <&- >/dev/null 2>&1 &`, child, names[1])
			term := hosttest.Create(t, m, shellRequest(left+fmt.Sprintf(` exec sh -c "echo ready; `+await+`; exec true"`, names[0])))
			gone := term.Gone()
			hosttest.AwaitOutput(t, term, "ready")
			require.Nil(t, term.ExitStatus())
			create()
			require.True(t, hosttest.AwaitExit(t, term).Success())
			require.False(t, latch.IsClosed(gone))
			create()
			<-gone
		})
	}
}

// With KeepDetached, a process that detaches itself is no member any more once it has closed the output, and then does
// not end with the terminal, although Gone has found it before.
func TestGoneWithKeepDetached(t *testing.T) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
		KeepDetached: true, Commands: acpterm.CommandOptions{Escalation: quickly},
	}))
	t.Cleanup(func() { m.Close() })
	for range 3 {
		names, create := files(t, 2)
		term := hosttest.Create(t, m, shellRequest(fmt.Sprintf(
			`setsid sh -c 'echo $$; `+await+`; exec sleep 300 <&- >&- 2>&-' & `+await, names[1], names[0])))
		gone := term.Gone()
		hosttest.AwaitOutput(t, term, "\n") // it is in a session of its own
		create()
		require.True(t, hosttest.AwaitExit(t, term).Success())
		pid := hosttest.Number(strings.TrimSpace(term.Output().Output))
		started := hosttest.StartTime(pid)
		for range 3 { // meanwhile, Gone finds the process
			<-hosttest.Finish(t, m, hosttest.CommandRequest("true")).Gone()
		}
		require.False(t, latch.IsClosed(gone), "it has the output open")
		create()
		<-gone
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		require.Equal(t, started, hosttest.StartTime(pid), "it was ended")
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) // ours, as its number and start time show
	}
}
