package embedtest

// Invalid options: NewManager and OpenSession refuse them and name the field, so that no create fails because of the
// host's mistake. Constructors turn nil and meaningless values into something that fails or refuses, without a panic.

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agentproc"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/usershell"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { hosttest.RunTests(m, nil) }

// sandboxStub changes nothing.
type sandboxStub struct{}

func (sandboxStub) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return acpterm.Wrapped{Command: p.Command}, nil
}

// badOptions holds invalid values, by the Field of the error. Those for a manager with a Runner have a Runner.
var (
	badOptions = map[string]acpterm.Options{
		"Options.Commands.OutputByteLimit": {Commands: acpterm.CommandOptions{OutputByteLimit: -1}},
		"Options.MaxOutputByteLimit":       {MaxOutputByteLimit: -1},
		"Options.MaxTerminals":             {MaxTerminals: -1},
		"Options.MaxSessionTerminals":      {MaxSessionTerminals: -1},
		"Options.MaxReservedBytes":         {MaxReservedBytes: -1},
		"Options.MaxKept":                  {MaxKept: -1},
		"Options.Commands.FollowBytes":     {Commands: acpterm.CommandOptions{FollowBytes: -1}},
		"Options.Commands.Dir":             {Commands: acpterm.CommandOptions{Dir: "relative"}},
		"Options.Commands.ShellLines":      {Commands: acpterm.CommandOptions{ShellLines: 9}},
		"Options.Commands.Shell":           {Commands: acpterm.CommandOptions{Shell: &acpterm.Shell{Program: "bash"}}},
		"Options.Commands.Escalation[0]": {Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Wait: time.Second}},
		}},
		"Options.Commands.Escalation[1]": {Commands: acpterm.CommandOptions{
			Escalation: []acpterm.EscalationStep{{Signal: 1}, {Signal: syscall.SIGTERM, Wait: -1}},
		}},
		"Options.Commands.Sandbox": {Runner: runnerStub{}, Commands: acpterm.CommandOptions{
			Sandbox: sandboxStub{},
		}},
		"Options.Commands.PTY": {Runner: runnerStub{}, Commands: acpterm.CommandOptions{
			PTY: &acpterm.PTYOptions{},
		}},
		"Options.Commands.Stdin": {Commands: acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{}}},
		"Options.KeepDetached":   {KeepDetached: true, Cgroup: "/sys/fs/cgroup/x"},
		"Options.Cgroup":         {Runner: runnerStub{}, Cgroup: "/sys/fs/cgroup/x"},
	}
	badSessionOptions = map[string]acpterm.SessionOptions{
		"SessionOptions.MaxTerminals":   {MaxTerminals: -1},
		"SessionOptions.Commands.Stdin": {Commands: acpterm.CommandOptions{Stdin: &acpterm.StdinOptions{}}},
		"SessionOptions.Commands.Dir":   {Commands: acpterm.CommandOptions{Dir: "relative"}},
		"SessionOptions.Commands.Shell": {Commands: acpterm.CommandOptions{Shell: &acpterm.Shell{Program: "bash"}}},
		"SessionOptions.Roots[0]":       {Roots: []string{"relative"}},
		"SessionOptions.Roots[1]":       {Roots: []string{os.TempDir(), filepath.Join(os.TempDir(), "acpterm-no-such-root")}},
	}
	badCommandOptions = map[string]acpterm.CommandOptions{
		"CommandOptions.Escalation[0]": {Escalation: []acpterm.EscalationStep{{Wait: time.Second}}},
		"CommandOptions.PTY":           {PTY: badPTY()},
		"CommandOptions.Stdin":         {PTY: &acpterm.PTYOptions{}, Stdin: &acpterm.StdinOptions{}},
	}
	badLimits = map[string]acpterm.Limits{
		"Limits.CPUTime": {CPUTime: -1}, "Limits.Memory": {Memory: -1}, "Limits.Processes": {Processes: -1},
		"Limits.OpenFiles": {OpenFiles: -1}, "Limits.FileSize": {FileSize: -1}, "Limits.Nice": {Nice: 20},
	}
)

func badPTY() *acpterm.PTYOptions {
	return &acpterm.PTYOptions{Columns: -1}
}

func TestOptionsThatCannotHold(t *testing.T) {
	for field, options := range badOptions {
		m, err := acpterm.NewManager(&options)
		hosttest.RequireOptionRefused(t, err, "new manager", field)
		require.Nil(t, m)
	}
	_, err := acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{ShellLines: -1}})
	hosttest.RequireOptionRefused(t, err, "new manager", "Options.Commands.ShellLines")
	for field, limits := range badLimits {
		_, err := acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Limits: new(limits)}})
		hosttest.RequireOptionRefused(t, err, "new manager", "Options.Commands."+field)
	}
}

func TestSessionOptionsThatCannotHold(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for field, options := range badSessionOptions {
		hosttest.RequireOptionRefused(t, m.OpenSession("s", &options), "open session", field)
	}
	for field, limits := range badLimits {
		err := m.OpenSession("s", &acpterm.SessionOptions{Commands: acpterm.CommandOptions{Limits: &limits}})
		hosttest.RequireOptionRefused(t, err, "open session", "SessionOptions.Commands."+field)
	}
	elsewhere := hosttest.NewManager(t, &acpterm.Options{Runner: runnerStub{}})
	err := elsewhere.OpenSession("s", &acpterm.SessionOptions{Commands: acpterm.CommandOptions{Sandbox: sandboxStub{}}})
	hosttest.RequireOptionRefused(t, err, "open session", "SessionOptions.Commands.Sandbox")
	require.NoError(t, m.OpenSession("s", nil), "a session that was refused is not open")
	hosttest.RequireOptionRefused(t, m.AddRoot("s", t.TempDir()), "add root", "SessionOptions.Roots")
	require.NoError(t, m.CloseSession(t.Context(), "s"))
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{t.TempDir()}}))
	hosttest.RequireOptionRefused(t, m.AddRoot("s", "relative"), "add root", "dir")
	file, err := os.Executable()
	require.NoError(t, err)
	hosttest.RequireOptionRefused(t, m.AddRoot("s", file), "add root", "dir")
	err = m.OpenSession("other", &acpterm.SessionOptions{Roots: []string{t.TempDir(), file}})
	hosttest.RequireOptionRefused(t, err, "open session", "SessionOptions.Roots[1]")
	require.ErrorContains(t, err, "not a directory")
	require.NoError(t, m.CloseSession(t.Context(), "s"))
}

func TestCommandOptionsThatCannotHold(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for field, options := range badCommandOptions {
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), &options)
		hosttest.RequireOptionRefused(t, err, "create", field)
	}
	for field, limits := range badLimits {
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.CommandOptions{Limits: &limits})
		hosttest.RequireOptionRefused(t, err, "create", "CommandOptions."+field)
	}
	elsewhere := hosttest.NewManager(t, &acpterm.Options{Runner: runnerStub{}})
	_, err := elsewhere.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.CommandOptions{
		PTY: &acpterm.PTYOptions{},
	})
	hosttest.RequireOptionRefused(t, err, "create", "CommandOptions.PTY")
	_, err = elsewhere.Create(t.Context(), hosttest.ChildRequest("sleep"), &acpterm.CommandOptions{
		Stdin: &acpterm.StdinOptions{},
	})
	hosttest.RequireOptionRefused(t, err, "create", "CommandOptions.Stdin")
}

// A value returned by a host's function is an option, too.
func TestFunctionsThatReturnWhatCannotHold(t *testing.T) {
	for field, options := range map[string]acpterm.CommandOptions{
		"Options.CommandsFor.PTY":        {PTY: badPTY()},
		"Options.CommandsFor.Stdin":      {Stdin: &acpterm.StdinOptions{}},
		"Options.CommandsFor.Dir":        {Dir: "/"},
		"Options.CommandsFor.Env":        {Env: []string{}},
		"Options.CommandsFor.Unattended": {Unattended: []string{}},
		"Options.CommandsFor.Shell":      {Shell: &acpterm.Shell{}},
		"Options.CommandsFor.ShellLines": {ShellLines: acpterm.ShellNever},
	} {
		m := hosttest.NewManager(t, &acpterm.Options{
			CommandsFor: func(acpterm.SessionID, acpterm.Command) *acpterm.CommandOptions { return &options },
		})
		_, err := m.Create(t.Context(), hosttest.ChildRequest("sleep"), nil)
		hosttest.RequireOptionRefused(t, err, "create", field)
	}
}

// Every option is in the tests above, or all its values are valid, such as those of a Handler.
func TestEveryOptionCanHoldOrIsRefused(t *testing.T) {
	fields := func(all any) (names []string) {
		for _, key := range reflect.ValueOf(all).MapKeys() {
			name := strings.TrimRight(key.String(), "[]012")
			if _, field, ofCommands := strings.Cut(name, ".Commands."); ofCommands {
				name = "CommandOptions." + field
			}
			names = append(names, name)
		}
		return names
	}
	refused := slices.Concat(fields(badOptions), fields(badSessionOptions), fields(badCommandOptions), []string{
		"CommandOptions.Limits", "Options.CommandsFor",
	})
	good := []string{
		"Options.Commands", "Options.Policy", "Options.Approve", "Options.Record", "Options.Journal",
		"Options.Runner", "Options.RequireSessions", "SessionOptions.Commands", "CommandOptions.Timeout",
		"CommandOptions.IdleTimeout",
		"SessionOptions.Policy", "CommandOptions.Env", "CommandOptions.Unattended",
		"CommandOptions.PlainOutput",
	}
	for _, options := range []any{acpterm.Options{}, acpterm.SessionOptions{}, acpterm.CommandOptions{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(options)) {
			name := reflect.TypeOf(options).Name() + "." + field.Name
			require.True(t, slices.Contains(refused, name) != slices.Contains(good, name), name)
		}
	}
	m := hosttest.NewManager(t, nil)
	for _, n := range []int{-1, 0, 1} {
		h := acpterm.NewHandler(m, &acpterm.HandlerOptions{MaxPending: n, LineLimit: int64(n)})
		require.NoError(t, h.Close())
	}
}

// A shell that cannot run a line is refused before any command is.
func TestShellsThatCannotHold(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	for _, shell := range []acpterm.Shell{
		{Args: []string{"-c"}}, {Program: "bash"}, {Program: "./bash", Args: []string{"-c"}},
		{Program: "bin/bash", Args: []string{"-c"}}, {Program: "ba\x00sh", Args: []string{"-c"}},
		{Program: "bash", Args: []string{"-c\x00"}},
	} {
		for _, runner := range []acpterm.Runner{nil, runnerStub{}} {
			_, err := acpterm.NewManager(&acpterm.Options{
				Commands: acpterm.CommandOptions{Shell: &shell},
				Runner:   runner,
			})
			hosttest.RequireOptionRefused(t, err, "new manager", "Options.Commands.Shell")
		}
		err := m.OpenSession("x", &acpterm.SessionOptions{Commands: acpterm.CommandOptions{Shell: &shell}})
		hosttest.RequireOptionRefused(t, err, "open session", "SessionOptions.Commands.Shell")
	}
}

func TestKnownShells(t *testing.T) {
	for _, name := range []string{"sh", "dash", "bash", "bash-login", "zsh", "zsh-login", "fish", "pwsh"} {
		shell, err := usershell.KnownShell(name)
		require.NoError(t, err, name)
		m, err := acpterm.NewManager(&acpterm.Options{Commands: acpterm.CommandOptions{Shell: &shell}})
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
			hosttest.RequireOptionRefused(t, err, "", "CommandOptions.Shell")
		} else if name != "git-bash" {
			require.NoError(t, err, name)
		}
	}
	for _, name := range []string{"", "Bash", "/bin/sh", "command.com"} {
		_, err := usershell.KnownShell(name)
		hosttest.RequireOptionRefused(t, err, "", "CommandOptions.Shell")
		require.ErrorContains(t, err, "bash-login")
	}
}

func TestHandlerWithoutAManager(t *testing.T) {
	h := acpterm.NewHandler(nil, nil)
	for _, method := range []string{acpterm.MethodCreate, acpterm.MethodOutput, acpterm.MethodRelease} {
		_, err := h.Dispatch(t.Context(), method, json.RawMessage(`{"sessionId":"s","terminalId":"x","command":"x"}`))
		require.ErrorIs(t, err, acpterm.ErrInternal, method)
	}
	require.NoError(t, h.Close())
}

func TestFilterWithoutAConnection(t *testing.T) {
	for _, conn := range []io.ReadWriteCloser{nil, agentproc.JoinStdio(nil, nil)} {
		r := hosttest.Rest(t, conn, nil)
		_, err := r.Read(make([]byte, 10))
		require.ErrorIs(t, err, io.EOF)
		_, err = io.WriteString(r, "1\n")
		require.ErrorIs(t, err, os.ErrClosed)
		require.NoError(t, r.Close())
	}
}

// A negative limit allows no line, rather than any line.
func TestNegativeLimits(t *testing.T) {
	skipped := 0
	conn := &hosttest.BytesConn{Reader: strings.NewReader(`{"jsonrpc":"2.0","method":"x"}` + "\n" + strings.Repeat("x", 100_000) + "\n")}
	all, err := io.ReadAll(hosttest.Rest(t, conn, &acpterm.HandlerOptions{
		LineLimit: -1, SkippedLines: func([]byte, int64, string) { skipped++ },
	}))
	require.NoError(t, err)
	require.Empty(t, all)
	require.Equal(t, 2, skipped)

	p := hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{MaxPending: -1})
	p.Write(hosttest.Request(`1`, acpterm.MethodOutput, hosttest.Of("none")))
	p.Refused("pending_requests", -1)
	p = hosttest.ConnectPeer(t, hosttest.NewManager(t, nil), &acpterm.HandlerOptions{LineLimit: math.MaxInt64})
	require.Nil(t, p.Ask(`1`, acpterm.MethodCreate, hosttest.ChildRequest("exit", "0")).Error)
}

// A Handler keeps the options it was created with.
func TestHandlerOptionsAreCopied(t *testing.T) {
	offer := acpterm.ClientCapabilities{}
	h := acpterm.NewHandler(hosttest.NewManager(t, nil), &acpterm.HandlerOptions{Capabilities: &offer})
	offer.Terminal = true
	_, err := h.Dispatch(t.Context(), acpterm.MethodOutput, json.RawMessage(`{}`))
	var refused *acpterm.CapabilityError
	require.ErrorAs(t, err, &refused)
}
