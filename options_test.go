package acpterm_test

// Options that cannot hold: NewManager and OpenSession refuse them and name the field, so that no create is refused for a
// mistake of the host's.

import (
	"context"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// sandboxStub changes nothing.
type sandboxStub struct{}

func (sandboxStub) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return acpterm.Wrapped{Command: p.Command}, nil
}

// requireOptionRefused requires an error of the host's, with a field.
func requireOptionRefused(t *testing.T, err error, op, field string) {
	t.Helper()
	var refused *acpterm.Error
	require.ErrorAs(t, err, &refused, field)
	require.Equal(t, acpterm.ErrInternal, refused.Kind)
	require.Equal(t, op, refused.Op)
	require.Equal(t, field, refused.Field)
	require.NotEmpty(t, refused.Reason)
}

func TestOptionsThatCannotHold(t *testing.T) {
	runner := runnerStub{}
	for field, options := range map[string]acpterm.Options{
		"Options.OutputByteLimit":     {OutputByteLimit: -1},
		"Options.MaxOutputByteLimit":  {MaxOutputByteLimit: -1},
		"Options.MaxTerminals":        {MaxTerminals: -1},
		"Options.MaxSessionTerminals": {MaxSessionTerminals: -1},
		"Options.MaxOutputBytes":      {MaxOutputBytes: -1},
		"Options.FollowBytes":         {FollowBytes: -1},
		"Options.Timeout":             {Timeout: -2},
		"Options.Dir":                 {Dir: "relative"},
		"Options.ShellLines":          {ShellLines: 9},
		"Options.Shell":               {Shell: acpterm.Shell{Program: "bash"}},
		"Options.Escalation[0]":       {Escalation: []acpterm.EscalationStep{{Wait: time.Second}}},
		"Options.Escalation[1]":       {Escalation: []acpterm.EscalationStep{{Signal: 1}, {Signal: syscall.SIGTERM, Wait: -1}}},
		"Options.Sandbox":             {Runner: runner, Sandbox: sandboxStub{}},
		"Options.KeepDetached":        {KeepDetached: true, Cgroup: "/sys/fs/cgroup/x"},
		"Options.Cgroup":              {Runner: runner, Cgroup: "/sys/fs/cgroup/x"},
		"Limits.Memory":               {Limits: acpterm.Limits{Memory: -1}},
		"Limits.FileSize":             {Limits: acpterm.Limits{FileSize: -1}},
		"Limits.Nice":                 {Limits: acpterm.Limits{Nice: 20}},
	} {
		m, err := acpterm.NewManager(&options)
		requireOptionRefused(t, err, "new manager", field)
		require.Nil(t, m)
	}
	_, err := acpterm.NewManager(&acpterm.Options{ShellLines: -1})
	requireOptionRefused(t, err, "new manager", "Options.ShellLines")
}

func TestSessionOptionsThatCannotHold(t *testing.T) {
	m := newManager(t, nil)
	elsewhere := newManager(t, &acpterm.Options{Runner: runnerStub{}})
	for field, options := range map[string]acpterm.SessionOptions{
		"SessionOptions.Timeout":      {Timeout: -2},
		"SessionOptions.MaxTerminals": {MaxTerminals: -1},
		"SessionOptions.Dir":          {Dir: "relative"},
		"Limits.CPUTime":              {Limits: &acpterm.Limits{CPUTime: -1}},
	} {
		requireOptionRefused(t, m.OpenSession("s", &options), "open session", field)
	}
	err := elsewhere.OpenSession("s", &acpterm.SessionOptions{Sandbox: sandboxStub{}})
	requireOptionRefused(t, err, "open session", "SessionOptions.Sandbox")
	for field, options := range map[string]acpterm.TerminalOptions{
		"TerminalOptions.Timeout":       {Timeout: -2},
		"TerminalOptions.Escalation[0]": {Escalation: []acpterm.EscalationStep{{Wait: time.Second}}},
		"Limits.OpenFiles":              {Limits: &acpterm.Limits{OpenFiles: -1}},
	} {
		_, err := m.Create(t.Context(), childRequest("sleep"), &options)
		requireOptionRefused(t, err, "create", field)
	}
	require.NoError(t, m.OpenSession("s", nil), "a session that was refused is not open")
	require.NoError(t, m.CloseSession(t.Context(), "s"))
}

// A shell that cannot take a line is refused before any command is.
func TestShellsThatCannotHold(t *testing.T) {
	m := newManager(t, nil)
	for _, shell := range []acpterm.Shell{
		{Args: []string{"-c"}}, {Program: "bash"}, {Program: "./bash", Args: []string{"-c"}},
		{Program: "bin/bash", Args: []string{"-c"}}, {Program: "ba\x00sh", Args: []string{"-c"}},
		{Program: "bash", Args: []string{"-c\x00"}},
	} {
		for _, runner := range []acpterm.Runner{nil, runnerStub{}} {
			_, err := acpterm.NewManager(&acpterm.Options{Shell: shell, Runner: runner})
			requireOptionRefused(t, err, "new manager", "Options.Shell")
		}
		err := m.OpenSession("x", &acpterm.SessionOptions{Shell: &shell})
		requireOptionRefused(t, err, "open session", "SessionOptions.Shell")
	}
}

func TestKnownShells(t *testing.T) {
	for _, name := range []string{"sh", "dash", "bash", "bash-login", "zsh", "zsh-login", "fish", "pwsh"} {
		shell, err := acpterm.KnownShell(name)
		require.NoError(t, err, name)
		m, err := acpterm.NewManager(&acpterm.Options{Shell: shell})
		require.NoError(t, err, name)
		require.NoError(t, m.Close())
		shell.Args[0] = "changed"
		again, err := acpterm.KnownShell(name)
		require.NoError(t, err)
		require.NotEqual(t, shell, again, name)
	}
	for _, name := range []string{"powershell", "cmd", "wsl", "git-bash"} {
		_, err := acpterm.KnownShell(name)
		if runtime.GOOS != "windows" {
			requireOptionRefused(t, err, "", "Options.Shell")
		} else if name != "git-bash" {
			require.NoError(t, err, name)
		}
	}
	for _, name := range []string{"", "Bash", "/bin/sh", "command.com"} {
		_, err := acpterm.KnownShell(name)
		requireOptionRefused(t, err, "", "Options.Shell")
		require.ErrorContains(t, err, "bash-login")
	}
}
