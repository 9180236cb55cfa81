package lawtest

// Processes that withstand SIGKILL are reported by the caller's error, and in events. Only processes of root withstand
// it, and only if another user may not signal them. So the host is a child that runs as an otherwise unused user, and
// its command is the test binary with the set-user-id bit, which has become root for good.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// withstood is the host's report about a tree that it could not end.
type withstood struct {
	Kill, Release []int // the processes named by the errors
	Wait          string
	Events        []string
}

// untouchable is the child that becomes root's, regardless of the user who started it.
func untouchable([]string) {
	if err := syscall.Setresuid(0, 0, 0); err != nil {
		panic(err)
	}
	testchildren.Ready()
	time.Sleep(testchildren.SoLong)
}

// survivorHost is the child that hosts a command it cannot end: PROGRAM.
func survivorHost(args []string) {
	survivors := func(err error) []int {
		if !errors.Is(err, acpterm.ErrSurvivors) {
			panic(err)
		}
		e, _ := errors.AsType[*acpterm.Error](err)
		return e.PIDs
	}
	var result withstood
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{
		Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGKILL, Wait: 200 * time.Millisecond}},
		},
	}))
	m.Observe(func(event acpterm.Event) {
		switch event.(type) {
		case *acpterm.DecisionEvent, *acpterm.StartEvent:
			return
		}
		line, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		result.Events = append(result.Events, string(line))
	})
	ctx := context.Background()
	term, err := m.Create(ctx, hosttest.CommandRequest(args[0], hosttest.ChildMark, "untouchable"), nil)
	if err != nil {
		panic(err)
	}
	for chunk := range term.Follow(ctx, 0) {
		if len(chunk.Text) > 0 && chunk.Text[len(chunk.Text)-1] == '\n' {
			break
		}
	}
	result.Kill = survivors(term.Kill(ctx))
	result.Release = survivors(m.Release(ctx, "s", term.ID()))
	_, err = term.Wait(ctx)
	result.Wait = err.Error()
	if err := m.Close(); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

func TestSurvivorsAreReported(t *testing.T) {
	root := copyProgram(t, 0o755|os.ModeSetuid)
	said := runHost(t, "survivor-host", root)
	var result withstood
	require.NoError(t, json.Unmarshal([]byte(said), &result), "%s", said)

	require.Len(t, result.Kill, 1)
	pid := result.Kill[0]
	pidfd, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err, "what was reported as a survivor is not there")
	defer unix.Close(pidfd)
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	require.NoError(t, err)
	require.Equal(t, root, program)
	require.NoError(t, unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0))

	require.Equal(t, []int{pid}, result.Release)
	require.Contains(t, result.Wait, "internal", "a wait that a release gave up has no status to return")
	var survivors []acpterm.SurvivorsEvent
	var ends []acpterm.EndEvent
	for _, event := range result.Events {
		var s acpterm.SurvivorsEvent
		require.NoError(t, json.Unmarshal([]byte(event), &s))
		if s.Time.IsZero() {
			var e acpterm.EndEvent
			require.NoError(t, json.Unmarshal([]byte(event), &e))
			ends = append(ends, e)
			continue
		}
		if s.Survivors == nil { // a ReleaseEvent
			continue
		}
		survivors = append(survivors, s)
	}
	require.Len(t, survivors, 2, "one of the kill and one of the release")
	for _, s := range survivors {
		require.Equal(t, []int{pid}, s.Survivors)
		require.Equal(t, pid, s.PID)
		require.Equal(t, root, s.Path)
	}
	require.Len(t, ends, 1)
	require.Equal(t, []int{pid}, ends[0].Survivors)
	require.Nil(t, ends[0].Status)
}
