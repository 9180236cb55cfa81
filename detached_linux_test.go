package acpterm_test

// What outlives a command's terminal with Options.KeepDetached, and what does not.

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// Each line starts one process that the shell does not wait for, and prints its number.
const (
	detached      = `setsid sh -c 'echo $$; exec sleep 300 <&- >&- 2>&-' & wait`
	detachedTwice = `setsid sh -c 'setsid sh -c "echo \$\$; exec sleep 300 <&- >&- 2>&-" & wait' & wait`
	inSameSession = `sleep 300 <&- >&- 2>&- & echo $!`
	withOutput    = `setsid sh -c 'echo $$; exec sleep 300' & wait`
)

func TestKeepDetached(t *testing.T) {
	for _, c := range []struct {
		name, line string
		keep, ends bool
	}{
		{"a session of its own", detached, true, false},
		{"a session of its own, by default", detached, false, true},
		{"a session below another one", detachedTwice, true, false},
		{"the command's session", inSameSession, true, true},
		{"a hold on the output", withOutput, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := must(acpterm.NewManager(&acpterm.Options{KeepDetached: c.keep, Escalation: quickly}))
			// The shell that starts it is there or gone, and the terminal is killed, released or closed.
			for i, end := range []func(*acpterm.Terminal) error{
				func(term *acpterm.Terminal) error { return term.Kill(t.Context()) },
				func(term *acpterm.Terminal) error { return m.Release(t.Context(), "s", term.ID()) },
				func(*acpterm.Terminal) error { return m.Close() },
			} {
				line := c.line
				if i == 1 {
					line = strings.TrimSuffix(line, " wait")
				}
				term := create(t, m, shellRequest(line))
				awaitOutput(t, term, "\n")
				pid := number(strings.TrimSpace(term.Output().Output))
				started := startTime(pid)
				require.NotEmpty(t, started)
				if !c.ends { // else it is not past execve, and has the output still
					awaitNoOutput(t, pid)
				}
				require.NoError(t, end(term))
				if c.ends {
					require.NotEqual(t, started, startTime(pid), "it runs")
					continue
				}
				require.Equal(t, started, startTime(pid), "it was ended")
				require.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) // ours: its number and start time say so
			}
		})
	}
}

// awaitNoOutput waits until a process has no descriptor open.
func awaitNoOutput(t *testing.T, pid int) {
	t.Helper()
	for {
		entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
		require.NoError(t, err)
		if len(entries) == 0 {
			return
		}
	}
}
