//go:build linux || darwin || freebsd

package terminaltest

// Tests of commands anywhere: exits, directories, variables, quotas, cancelled creates.

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/stretchr/testify/require"
)

func anywhereTests() []test {
	return []test{
		{"ExitCodesAndSignals", TestExitCodesAndSignals},
		{"ExitIsToldWhileAChildRuns", TestExitIsToldWhileAChildRuns},
		{"OutputLimitZero", TestOutputLimitZero},
		{"KillEndsASessionOfItsOwn", TestKillEndsASessionOfItsOwn},
		{"TheEnvironmentIsThePlaces", TestTheEnvironmentIsThePlaces},
		{"DirectoriesThatCannotBe", TestDirectoriesThatCannotBe},
		{"ProgramsThatCannotBe", TestProgramsThatCannotBe},
		{"QuotaOfTerminals", TestQuotaOfTerminals},
		{"ManyBytesArriveInOrder", TestManyBytesArriveInOrder},
		{"ACancelledCreateLeavesNothing", TestACancelledCreateLeavesNothing},
	}
}

// Every exit code is reported as the command chose it, including those that a shell derives from signals. A signal is
// reported as a signal.
func TestExitCodesAndSignals(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	for code := range uint32(256) {
		term := Finish(t, m, ShellRequest(fmt.Sprint("exit ", code)))
		want := &acpterm.TerminalExitStatus{ExitCode: &code, Meta: endedBy(acpterm.EndedByItself)}
		require.Equal(t, want, term.ExitStatus())
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	}
	for _, name := range []string{"SEGV", "HUP", "KILL", "USR1", "TERM"} {
		status := RunToEnd(t, m, ShellRequest("kill -"+name+" $$")).ExitStatus
		require.Nil(t, status.ExitCode)
		require.Equal(t, "SIG"+name, *status.Signal)
	}
}

// The child is still running when the command's end is reported, together with all of the command's output.
func TestExitIsToldWhileAChildRuns(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	term := Create(t, m, CommandRequest("sleep 300 & echo $!; exit 4"))
	status := AwaitExit(t, term)
	require.EqualValues(t, 4, *status.ExitCode)
	line, found := strings.CutSuffix(term.Output().Output, "\n")
	require.True(t, found)
	child := children.Number(line)
	require.NotEmpty(t, p.startTime(child), "it is not there any more")
	require.NoError(t, term.Kill(t.Context()), "a kill ends what an ended command left")
	require.Empty(t, p.startTime(child))
}

func TestOutputLimitZero(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	for text, truncated := range map[string]bool{"": false, "x": true} {
		req := p.Child("print", text)
		req.OutputByteLimit = new(uint64)
		out := RunToEnd(t, m, req)
		require.Empty(t, out.Output)
		require.Equal(t, truncated, out.Truncated)
	}
}

func TestKillEndsASessionOfItsOwn(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Escalation: quickly},
	}) // a member ignores SIGTERM
	term := Create(t, m, p.Child("setsid"))
	tree := p.Said(t, term)
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	p.RequireGone(t, tree)
}

// A request's variables take precedence over the place's. None of this process's variables reach another place.
func TestTheEnvironmentIsThePlaces(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	req := ShellRequest("env; pwd")
	out := RunToEnd(t, m, req).Output
	require.Contains(t, out, "\nPATH=")
	if !p.Local {
		require.NotEmpty(t, os.Getenv(SecretVariable))
		require.NotContains(t, out, SecretVariable)
	}
	req.Cwd = p.TempDir(t)
	req.Env = []acpterm.EnvVariable{{Name: "HOME", Value: "/of/the/request"}, {Name: "NEW", Value: "a=\u00e9\n b"}}
	out = "\n" + RunToEnd(t, m, req).Output
	require.Equal(t, 1, strings.Count(out, "\nHOME="))
	require.Contains(t, out, "\nHOME=/of/the/request\n")
	require.Contains(t, out, "\nNEW=a=\u00e9\n b\n")
	require.Contains(t, out, "\nPWD="+req.Cwd+"\n")
	require.True(t, strings.HasSuffix(out, "\n"+req.Cwd+"\n"))
}

func TestDirectoriesThatCannotBe(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	dir := p.TempDir(t)
	require.NoError(t, p.writeFile(dir+"/file", nil, 0o600))
	for _, cwd := range []string{dir + "/missing", dir + "/file", dir + "/file/below", "relative", ".", dir + "/\x00"} {
		req := p.Child("pwd")
		req.Cwd = cwd
		require.Equal(t, createError{acpterm.ErrInvalidParams, "cwd", "", -32602}, failedCreate(t, m, req), "%q", cwd)
	}
}

func TestProgramsThatCannotBe(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	dir := p.TempDir(t)
	require.NoError(t, p.writeFile(dir+"/plain", []byte("#!/bin/sh\n"), 0o600))
	for command, want := range map[string]createError{
		"acpterm-no-such-program": {acpterm.ErrCommandNotFound, "", "acpterm-no-such-program", -32002},
		dir + "/missing":          {acpterm.ErrCommandNotFound, "", dir + "/missing", -32002},
		dir + "/plain":            {acpterm.ErrNotExecutable, "command", dir + "/plain", -32602},
		dir:                       {acpterm.ErrNotExecutable, "command", dir, -32602},
		"":                        {acpterm.ErrInvalidParams, "command", "", -32602},
	} {
		require.Equal(t, want, failedCreate(t, m, CommandRequest(command)), "%q", command)
	}
}

func TestQuotaOfTerminals(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{MaxTerminals: 2})
	first := CreateReady(t, m, p.Child("sleep"))
	Create(t, m, p.Child("sleep"))
	_, err := m.Create(t.Context(), p.Child("sleep"), nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
	require.NoError(t, m.Release(t.Context(), "s", first.ID()))
	CreateReady(t, m, p.Child("sleep"))
}

// Eight MiB and an exit lose no byte, although a follower reads slowly.
func TestManyBytesArriveInOrder(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	line := "for c in a b c d e f g h i j k l m n o p; do head -c 524288 /dev/zero | tr '\\0' $c; done"
	req := ShellRequest(line)
	req.OutputByteLimit = new(uint64(16 << 20))
	term := Create(t, m, req)
	for range term.Follow(t.Context(), 0) {
		runtime.Gosched()
	}
	AwaitExit(t, term)
	out := term.Output()
	require.False(t, out.Truncated)
	require.Len(t, out.Output, 8<<20)
	for i := range 16 {
		part := out.Output[i<<19 : (i+1)<<19]
		require.Empty(t, strings.Trim(part, string(rune('a'+i))), "part %d", i)
	}
}

// A create can be cancelled at any time. Closing the Manager checks that nothing is left of it.
func TestACancelledCreateLeavesNothing(t *testing.T, p Place) {
	m := p.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}}})
	for i := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		term, err := m.Create(ctx, p.Child("sleep"), nil)
		cancel()
		if err == nil {
			require.NoError(t, m.Release(t.Context(), "s", term.ID()))
			continue
		}
		require.ErrorIs(t, err, acpterm.ErrCancelled)
	}
	require.Empty(t, m.Terminals())
}
