package lawtest

// Processes that withstand SIGKILL are reported by the caller's error, and in events. Processes that are exiting, and
// processes that may be strangers, are told apart from them. Only processes of root withstand it, and only if another
// user may not signal them. So the host is a child that runs as an otherwise unused user, and its command is the test
// binary with the set-user-id bit, which has become root for good.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/linuxtest"
	testchildren "github.com/acpterm/acpterm/internal/terminaltest/children"
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

// survivorHost is the child that hosts a command with a process that it cannot end: PROGRAM, started by a LINE of bash
// or, without one, as the command.
func survivorHost(args []string) {
	survivors := func(err error) []int {
		if !errors.Is(err, acpterm.ErrSurvivors) {
			panic(err)
		}
		e, _ := errors.AsType[*acpterm.Error](err)
		return slices.DeleteFunc(e.PIDs, func(pid int) bool { return unix.Kill(pid, 0) == nil }) // slow, but ends
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
	command := []string{args[0], hosttest.ChildMark, "untouchable"}
	if args[1] != "" {
		command = append([]string{"/bin/bash", "-c", args[1]}, command...)
	}
	term, err := m.Create(ctx, hosttest.CommandRequest(command[0], command[1:]...), nil)
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
	if _, err = term.Wait(ctx); err != nil {
		result.Wait = err.Error()
	}
	if err := m.Close(); err != nil {
		panic(err)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

// endUntouchable lets a host end a tree with a process of root, whose number it returns, and then ends that process.
func endUntouchable(t *testing.T, line string) (result withstood, root string, pid int) {
	root = copyProgram(t, 0o755|os.ModeSetuid)
	said := runHost(t, "survivor-host", root, line)
	require.NoError(t, json.Unmarshal([]byte(said), &result), "%s", said)

	require.NotEmpty(t, result.Kill)
	pid = result.Kill[len(result.Kill)-1]
	pidfd, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err, "what was reported as a survivor is not there")
	defer unix.Close(pidfd)
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	require.NoError(t, err)
	require.Equal(t, root, program)
	require.NoError(t, unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0))
	require.Equal(t, result.Kill, result.Release)
	return result, root, pid
}

// A process that has become root is a survivor wherever it is found, also if the command ends.
func TestSurvivorsBesideTheCommandAreReported(t *testing.T) {
	lines := map[string]string{
		"a job":        `set -m; "$0" "$@" & wait`,
		"an orphan":    `set -m; ("$0" "$@" &); exec sleep 300`,
		"in a session": `setsid sh -c '"$0" "$@"; :' "$0" "$@" & wait`,
	}
	if os.Getenv("ACPTERM_TEST_MACHINE") != "" { // where they need no password
		lines["sudo"], lines["su"] = `sudo -n "$0" "$@" & wait`, `su -c '"$0" "$@"' -- root "$0" "$@" & wait`
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			result, _, _ := endUntouchable(t, line)
			require.Empty(t, result.Wait, "the command has ended")
			if !strings.HasPrefix(name, "su") {
				require.Len(t, result.Kill, 1)
			}
		})
	}
}

func TestSurvivorsAreReported(t *testing.T) {
	result, root, pid := endUntouchable(t, "")
	require.Contains(t, result.Wait, "internal", "a wait that a release gave up has no status to return")
	type survivorsEvent struct { // without Err, which could not be read
		acpterm.Subject
		Time      time.Time
		Survivors []int
	}
	var survivors []survivorsEvent
	var ends []acpterm.EndEvent
	for _, event := range result.Events {
		var s survivorsEvent
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

// quickKill makes a kill give up soon.
var quickKill = &acpterm.Options{Commands: acpterm.CommandOptions{
	Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGKILL, Wait: 200 * time.Millisecond}},
}}

// requireNoneNamed checks that an end has failed, and that its error names a process in its text but not in PIDs, where
// a host expects processes that it may have to kill itself.
func requireNoneNamed(t *testing.T, err error, text string, pid int) {
	t.Helper()
	failure, ok := errors.AsType[*acpterm.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, acpterm.ErrSurvivors, failure.Kind)
	require.Empty(t, failure.PIDs, "process %d is no survivor: %v", pid, err)
	require.Regexp(t, fmt.Sprintf(text, pid), err.Error())
}

// A process that has got SIGKILL and is held while it exits, here by a tracer, is no survivor. Beside a load, the shell may
// be exiting, too.
func TestExitingProcessesAreNoSurvivors(t *testing.T) {
	hook, events := hosttest.Record()
	m := hosttest.NewManager(t, quickKill, hook)
	term := hosttest.Create(t, m, hosttest.CommandRequest("/bin/sh", "-c", "sleep 300 & echo $!; wait"))
	hosttest.AwaitOutput(t, term, "\n")
	var pid int
	_, err := fmt.Sscan(term.Output().Output, &pid)
	require.NoError(t, err)
	release := linuxtest.HoldExit(t, pid)
	const exiting = `processes \[(\d+ )*%d( \d+)*\] have been killed, and are exiting`
	err = term.Kill(t.Context())
	requireNoneNamed(t, err, exiting, pid)
	for event := range events {
		if survivors, ok := event.(*acpterm.SurvivorsEvent); ok {
			require.Empty(t, survivors.Survivors)
			require.Error(t, survivors.Err)
			require.Regexp(t, fmt.Sprintf(exiting, pid), survivors.Err.Error())
			break
		}
	}
	release()
	// A process that another program has just started may seem to belong to the tree.
	require.Eventually(t, func() bool { return term.Kill(t.Context()) == nil }, time.Minute, time.Millisecond)
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
}

// A process that may have been started by a command is not named as its survivor, nor as that of several commands. Other
// programs on the machine may start such processes at the same time.
func TestPossibleMembersAreNoSurvivors(t *testing.T) {
	m := hosttest.NewManager(t, quickKill)
	terms := []*acpterm.Terminal{
		hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep")), hosttest.CreateReady(t, m, hosttest.ChildRequest("sleep")),
	}
	stranger := startDaemon(t)
	for _, term := range terms {
		requireNoneNamed(t, term.Kill(t.Context()), `processes \[(\d+ )*%d( \d+)*\] may belong to the tree`, stranger)
	}
	require.NoError(t, unix.Kill(stranger, unix.SIGKILL))
	for _, term := range terms {
		if err := m.Release(t.Context(), "s", term.ID()); err != nil {
			require.ErrorContains(t, err, "may belong to the tree")
			require.NotRegexp(t, fmt.Sprintf(`\b%d\b`, stranger), err.Error())
		}
	}
}

// startDaemon starts a process without an environment, parent or session of others, and returns its number.
func startDaemon(t *testing.T) (pid int) {
	line := append([]string{"-c", `(setsid /usr/bin/env -i "$0" "$@" &)`}, hosttest.ChildArgs("headless")...)
	shell := exec.Command("/bin/sh", line...)
	stdout := hosttest.Must(shell.StdoutPipe())
	require.NoError(t, shell.Start())
	_, err := fmt.Fscan(stdout, &pid)
	require.NoError(t, err)
	require.NoError(t, shell.Wait())
	t.Cleanup(func() { unix.Kill(pid, unix.SIGKILL) })
	awaitHeadless(t, pid)
	return pid
}
