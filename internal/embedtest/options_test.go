package embedtest

// Options that cannot hold: NewManager and OpenSession refuse them and name the field, so that no create is refused for a
// mistake of the host's.

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
)

// sandboxStub changes nothing.
type sandboxStub struct{}

func (sandboxStub) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return acpterm.Wrapped{Command: p.Command}, nil
}

// badOptions are values that cannot hold, by the Field of the error. Those of a Runner's manager have a Runner.
var (
	badOptions = map[string]acpterm.Options{
		"Options.OutputByteLimit":     {OutputByteLimit: -1},
		"Options.MaxOutputByteLimit":  {MaxOutputByteLimit: -1},
		"Options.MaxTerminals":        {MaxTerminals: -1},
		"Options.MaxSessionTerminals": {MaxSessionTerminals: -1},
		"Options.MaxOutputBytes":      {MaxOutputBytes: -1},
		"Options.FollowBytes":         {FollowBytes: -1},
		"Options.HeadBytes":           {HeadBytes: -1},
		"Options.Timeout":             {Timeout: -2},
		"Options.Dir":                 {Dir: "relative"},
		"Options.ShellLines":          {ShellLines: 9},
		"Options.Shell":               {Shell: acpterm.Shell{Program: "bash"}},
		"Options.Escalation[0]":       {Escalation: []acpterm.EscalationStep{{Wait: time.Second}}},
		"Options.Escalation[1]":       {Escalation: []acpterm.EscalationStep{{Signal: 1}, {Signal: syscall.SIGTERM, Wait: -1}}},
		"Options.Sandbox":             {Runner: runnerStub{}, Sandbox: sandboxStub{}},
		"Options.PTY":                 {Runner: runnerStub{}, PTY: badPTY},
		"Options.KeepDetached":        {KeepDetached: true, Cgroup: "/sys/fs/cgroup/x"},
		"Options.Cgroup":              {Runner: runnerStub{}, Cgroup: "/sys/fs/cgroup/x"},
	}
	badSessionOptions = map[string]acpterm.SessionOptions{
		"SessionOptions.Timeout":      {Timeout: -2},
		"SessionOptions.MaxTerminals": {MaxTerminals: -1},
		"SessionOptions.Dir":          {Dir: "relative"},
		"SessionOptions.Shell":        {Shell: &acpterm.Shell{Program: "bash"}},
		"SessionOptions.Roots[0]":     {Roots: []string{"relative"}},
		"SessionOptions.Roots[1]":     {Roots: []string{os.TempDir(), filepath.Join(os.TempDir(), "acpterm-no-such-root")}},
	}
	badTerminalOptions = map[string]acpterm.TerminalOptions{
		"TerminalOptions.Timeout":       {Timeout: -2},
		"TerminalOptions.Escalation[0]": {Escalation: []acpterm.EscalationStep{{Wait: time.Second}}},
		"TerminalOptions.PTY":           {PTY: badPTY("", acpterm.Command{})},
	}
	badLimits = map[string]acpterm.Limits{
		"Limits.CPUTime": {CPUTime: -1}, "Limits.Memory": {Memory: -1}, "Limits.Processes": {Processes: -1},
		"Limits.OpenFiles": {OpenFiles: -1}, "Limits.FileSize": {FileSize: -1}, "Limits.Nice": {Nice: 20},
	}
)

func badPTY(acpterm.SessionID, acpterm.Command) *acpterm.PTYOptions {
	return &acpterm.PTYOptions{Columns: -1}
}

func TestOptionsThatCannotHold(t *testing.T) {
	for field, options := range badOptions {
		m, err := acpterm.NewManager(&options)
		hosttest.RequireOptionRefused(t, err, "new manager", field)
		require.Nil(t, m)
	}
	_, err := acpterm.NewManager(&acpterm.Options{ShellLines: -1})
	hosttest.RequireOptionRefused(t, err, "new manager", "Options.ShellLines")
	for field, limits := range badLimits {
		_, err := acpterm.NewManager(&acpterm.Options{Limits: limits})
		hosttest.RequireOptionRefused(t, err, "new manager", "Options."+field)
	}
}

func TestSessionOptionsThatCannotHold(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for field, options := range badSessionOptions {
		hosttest.RequireOptionRefused(t, m.OpenSession("s", &options), "open session", field)
	}
	for field, limits := range badLimits {
		err := m.OpenSession("s", &acpterm.SessionOptions{Limits: &limits})
		hosttest.RequireOptionRefused(t, err, "open session", "SessionOptions."+field)
	}
	elsewhere := hosttest.NewManager(t, &acpterm.Options{Runner: runnerStub{}})
	err := elsewhere.OpenSession("s", &acpterm.SessionOptions{Sandbox: sandboxStub{}})
	hosttest.RequireOptionRefused(t, err, "open session", "SessionOptions.Sandbox")
	require.NoError(t, m.OpenSession("s", nil), "a session that was refused is not open")
	hosttest.RequireOptionRefused(t, m.AddRoot("s", t.TempDir()), "add root", "SessionOptions.Roots")
	require.NoError(t, m.CloseSession(t.Context(), "s"))
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{t.TempDir()}}))
	hosttest.RequireOptionRefused(t, m.AddRoot("s", "relative"), "add root", "dir")
	require.NoError(t, m.CloseSession(t.Context(), "s"))
}

func TestTerminalOptionsThatCannotHold(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for field, options := range badTerminalOptions {
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), &options)
		hosttest.RequireOptionRefused(t, err, "create", field)
	}
	for field, limits := range badLimits {
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.TerminalOptions{Limits: &limits})
		hosttest.RequireOptionRefused(t, err, "create", "TerminalOptions."+field)
	}
	elsewhere := hosttest.NewManager(t, &acpterm.Options{Runner: runnerStub{}})
	_, err := elsewhere.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.TerminalOptions{PTY: &acpterm.PTYOptions{}})
	hosttest.RequireOptionRefused(t, err, "create", "TerminalOptions.PTY")
}

// What a function of the host's returns is an option, too.
func TestFunctionsThatReturnWhatCannotHold(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{PTY: badPTY})
	_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
	hosttest.RequireOptionRefused(t, err, "create", "Options.PTY")
	m = hosttest.NewManager(t, &acpterm.Options{
		TimeoutFor: func(acpterm.SessionID, acpterm.Command) time.Duration { return -2 },
	})
	_, err = m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
	hosttest.RequireOptionRefused(t, err, "create", "Options.TimeoutFor")
}

// Every option is in the tests above, or each of its values is one that can hold: those of a Handler, for instance.
func TestEveryOptionCanHoldOrIsRefused(t *testing.T) {
	fields := func(all any) (names []string) {
		for _, key := range reflect.ValueOf(all).MapKeys() {
			names = append(names, strings.TrimRight(key.String(), "[]012"))
		}
		return names
	}
	refused := slices.Concat(fields(badOptions), fields(badSessionOptions), fields(badTerminalOptions), []string{
		"Options.Limits", "SessionOptions.Limits", "TerminalOptions.Limits", "SessionOptions.Sandbox", "Options.TimeoutFor",
	})
	good := []string{
		"Options.Env", "Options.Unattended", "Options.Policy", "Options.Approve", "Options.Events", "Options.Record",
		"Options.Journal", "Options.Runner", "Options.RequireSessions", "Options.HostReaps", "SessionOptions.Env",
		"SessionOptions.Policy", "TerminalOptions.NoShell",
	}
	for _, options := range []any{acpterm.Options{}, acpterm.SessionOptions{}, acpterm.TerminalOptions{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(options)) {
			name := reflect.TypeOf(options).Name() + "." + field.Name
			require.True(t, slices.Contains(refused, name) != slices.Contains(good, name), name)
		}
	}
	m := hosttest.NewManager(t, nil)
	for _, n := range []int{-1, 0, 1} {
		h := acpterm.NewHandler(m, &acpterm.HandlerOptions{MaxPending: n, MaxCreateBytes: n, MaxPendingCreateBytes: n})
		require.NoError(t, h.Close())
	}
}

// A shell that cannot take a line is refused before any command is.
func TestShellsThatCannotHold(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for _, shell := range []acpterm.Shell{
		{Args: []string{"-c"}}, {Program: "bash"}, {Program: "./bash", Args: []string{"-c"}},
		{Program: "bin/bash", Args: []string{"-c"}}, {Program: "ba\x00sh", Args: []string{"-c"}},
		{Program: "bash", Args: []string{"-c\x00"}},
	} {
		for _, runner := range []acpterm.Runner{nil, runnerStub{}} {
			_, err := acpterm.NewManager(&acpterm.Options{Shell: shell, Runner: runner})
			hosttest.RequireOptionRefused(t, err, "new manager", "Options.Shell")
		}
		err := m.OpenSession("x", &acpterm.SessionOptions{Shell: &shell})
		hosttest.RequireOptionRefused(t, err, "open session", "SessionOptions.Shell")
	}
}

func TestKnownShells(t *testing.T) {
	for _, name := range []string{"sh", "dash", "bash", "bash-login", "zsh", "zsh-login", "fish", "pwsh"} {
		shell, err := usershell.KnownShell(name)
		require.NoError(t, err, name)
		m, err := acpterm.NewManager(&acpterm.Options{Shell: shell})
		require.NoError(t, err, name)
		require.NoError(t, m.Close())
		shell.Args[0] = "changed"
		again, err := usershell.KnownShell(name)
		require.NoError(t, err)
		require.NotEqual(t, shell, again, name)
	}
	for _, name := range []string{"powershell", "cmd", "wsl", "git-bash"} {
		_, err := usershell.KnownShell(name)
		if runtime.GOOS != "windows" {
			hosttest.RequireOptionRefused(t, err, "", "Options.Shell")
		} else if name != "git-bash" {
			require.NoError(t, err, name)
		}
	}
	for _, name := range []string{"", "Bash", "/bin/sh", "command.com"} {
		_, err := usershell.KnownShell(name)
		hosttest.RequireOptionRefused(t, err, "", "Options.Shell")
		require.ErrorContains(t, err, "bash-login")
	}
}
