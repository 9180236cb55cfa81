package terminaltest

// How commands end: by themselves, by kills, by timeouts.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/stretchr/testify/require"
)

func exitTests() []test {
	return []test{
		{"ExitStatus", TestExitStatus},
		{"StatesAndTimes", TestStatesAndTimes},
		{"RequestAndCommandAreCopies", TestRequestAndCommandAreCopies},
		{"KillIsGracefulFirst", TestKillIsGracefulFirst},
		{"KillForcesAfterTheGracePeriod", TestKillForcesAfterTheGracePeriod},
		{"SecondKillForces", TestSecondKillForces},
		{"StopIsTheUsers", TestStopIsTheUsers},
		{"WaitEndsWithTheCommand", TestWaitEndsWithTheCommand},
		{"CommandSeesEndOfInputAndNoTerminal", TestCommandSeesEndOfInputAndNoTerminal},
		{"WaitIsBoundedByItsContextOnly", TestWaitIsBoundedByItsContextOnly},
		{"WhichTimeoutApplies", TestWhichTimeoutApplies},
		{"TimeoutAgainstANaturalExit", TestTimeoutAgainstANaturalExit},
		{"ReleaseLeavesTheHolderReading", TestReleaseLeavesTheHolderReading},
		{"GoneWaitsForSilentChildrenAndTheirs", TestGoneWaitsForSilentChildrenAndTheirs},
	}
}

func TestExitStatus(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	codes := []uint32{0, 1, 3, 127, 255}
	if runtime.GOOS == "windows" {
		codes = append(codes, 256, 0x7FFFFFFF, 0x80000000, 0xC0000005, 0xC000013A, 0xE0000009, 4294967295)
	}
	for _, code := range codes {
		out := RunToEnd(t, m, p.Child("exit", fmt.Sprint(code)))
		want := &acpterm.TerminalExitStatus{ExitCode: new(code), Meta: EndedBy(acpterm.EndedByItself)}
		require.Equal(t, want, out.ExitStatus)
		require.Equal(t, code == 0, out.ExitStatus.Success())
	}
}

func TestStatesAndTimes(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	term := Create(t, m, p.Child("polite"))
	require.Equal(t, acpterm.StateRunning, term.State())
	info := term.Info()
	created, started, ended := info.Created, info.Started, info.Ended
	require.False(t, created.IsZero())
	require.False(t, started.Before(created))
	require.True(t, ended.IsZero())
	require.Equal(t, acpterm.SessionID("s"), term.SessionID())
	require.Equal(t, p.Program, term.Command().Path)
	require.Equal(t, []*acpterm.Terminal{term}, m.Terminals())

	AwaitOutput(t, term, "ready")
	require.Nil(t, term.Output().ExitStatus)
	require.Empty(t, term.EndedBy())
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, acpterm.EndedByKill, term.EndedBy())
	ended = term.Info().Ended
	require.False(t, ended.Before(started))

	finished := Finish(t, m, p.Child("exit", "0"))
	require.Equal(t, acpterm.EndedByItself, finished.EndedBy())
	require.NoError(t, finished.Kill(t.Context()), "to kill what has ended is no error")
	require.Equal(t, acpterm.EndedByItself, finished.EndedBy())
}

// Changes to values returned by a terminal, or kept by its creator, do not change the terminal.
func TestRequestAndCommandAreCopies(t *testing.T, p Place) {
	limit := uint64(1000)
	ask := func() acpterm.CreateTerminalRequest {
		req := p.Child("print", "x")
		req.Env = []acpterm.EnvVariable{{Name: "A", Value: "1", Meta: acpterm.Meta{"m": json.RawMessage(`1`)}}}
		req.Meta = acpterm.Meta{"m": json.RawMessage(`1`)}
		req.OutputByteLimit = &limit
		return req
	}
	change := func(req acpterm.CreateTerminalRequest) {
		req.Args[1], req.Env[0].Name, *req.OutputByteLimit = "changed", "B", 1
		req.Meta["m"][0], req.Env[0].Meta["m"][0] = '2', '2'
		req.Meta["n"], req.Env[0].Meta["n"] = nil, nil
		limit = 1000 // of requests returned by ask
	}
	m := p.NewManager(t, nil)
	req := ask()
	term := Create(t, m, req)
	change(req)
	require.Equal(t, ask(), term.Request())
	change(term.Request())
	require.Equal(t, ask(), term.Request())
	command := term.Command()
	args, env := slices.Clone(command.Args), slices.Clone(command.Env)
	command.Args[1], command.Env[0] = "changed", "CHANGED=1"
	require.Equal(t, args, term.Command().Args)
	require.Equal(t, env, term.Command().Env)
	AwaitExit(t, term)
}

// A command asked to end ends in its own way. Its chosen exit code, or the signal, is reported.
func TestKillIsGracefulFirst(t *testing.T, p Place) {
	p.needsAsking(t)
	m := p.NewManager(t, nil)
	term := CreateReady(t, m, p.Child("polite"))
	require.NoError(t, term.Kill(t.Context()))
	out := term.Output()
	require.Equal(t, "ready\nbye\n", out.Output)
	require.Equal(t, uint32(7), *out.ExitStatus.ExitCode)
	for asked, name := range map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT"} {
		step := acpterm.EscalationStep{Signal: asked, Wait: time.Hour}
		term := CreateReady(t, m, p.Child("sleep"),
			&acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{step}})
		require.NoError(t, term.Kill(t.Context()))
		want := &acpterm.TerminalExitStatus{Signal: &name, Meta: EndedBy(acpterm.EndedByKill)}
		require.Equal(t, want, term.Output().ExitStatus)
	}
}

func TestKillForcesAfterTheGracePeriod(t *testing.T, p Place) {
	p.needsAsking(t)
	m := p.NewManager(t, nil)
	term := CreateReady(t, m, p.Child("stubborn"),
		&acpterm.CommandOptions{Escalation: askFor(50 * time.Millisecond)})
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}

// The grace period is an hour: only the second Kill can end this.
func TestSecondKillForces(t *testing.T, p Place) {
	p.needsAsking(t)
	m := p.NewManager(t, nil)
	term := CreateReady(t, m, p.Child("stubborn"),
		&acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := term.Kill(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, acpterm.StateRunning, term.State())

	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}

// A stop by the user is told apart from a kill. The first of both counts, and another one forces it.
func TestStopIsTheUsers(t *testing.T, p Place) {
	p.needsAsking(t)
	m := p.NewManager(t, nil)
	stubborn := func() *acpterm.Terminal {
		return CreateReady(t, m, p.Child("stubborn"), &acpterm.CommandOptions{Escalation: askFor(time.Hour)})
	}
	begins, cancel := context.WithCancel(t.Context())
	cancel()
	term := stubborn()
	require.ErrorIs(t, term.Stop(begins), acpterm.ErrCancelled)
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, acpterm.EndedByUser, term.EndedBy())
	require.Equal(t, EndedBy(acpterm.EndedByUser), term.Output().ExitStatus.Meta)
	term = stubborn()
	require.ErrorIs(t, term.Kill(begins), acpterm.ErrCancelled)
	require.NoError(t, term.Stop(t.Context()))
	require.Equal(t, acpterm.EndedByKill, term.EndedBy())
	term = Finish(t, m, p.Child("exit", "0"))
	require.NoError(t, term.Stop(t.Context()))
	require.Equal(t, acpterm.EndedByItself, term.EndedBy())
}

// Law 2: a wait ends when the command does, even if another process holds the pipe, and its output is complete by then.
// The holder sleeps for minutes; a wait that included it would not return before.
func TestWaitEndsWithTheCommand(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	size := 60_000 // more than one read, and it fits into the pipe
	if runtime.GOOS == "windows" {
		size = 30_000 // a command line has no room for more
	}
	tail := strings.Repeat("x", size)
	for range longtest.Times(5, 20) {
		out := RunToEnd(t, m, p.Child("holder", tail))
		require.True(t, strings.HasSuffix(out.Output, "\n"+tail), "%d bytes", len(out.Output))
		require.NotNil(t, out.ExitStatus)
	}
}

func TestCommandSeesEndOfInputAndNoTerminal(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	require.Equal(t, `"" <nil> eof`, RunToEnd(t, m, p.Child("stdin")).Output)
	if runtime.GOOS != "windows" {
		require.Equal(t, "true", RunToEnd(t, m, p.Child("tty")).Output)
	}
}

func TestWaitIsBoundedByItsContextOnly(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	term, err := m.Create(ctx, p.Child("sleep"), nil)
	require.NoError(t, err)
	cancel() // ends neither the command
	_, err = term.Wait(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, acpterm.StateRunning, term.State())
	AwaitOutput(t, term, "ready") // nor its output
}

// The setting nearest to the command determines its timeout.
func TestWhichTimeoutApplies(t *testing.T, p Place) {
	const short, long = time.Millisecond, time.Hour
	for _, c := range []struct {
		name                                 string
		manager, session, function, terminal time.Duration // 0 if not set
		expires                              bool
	}{
		{"none", 0, 0, 0, 0, false},
		{"manager", short, 0, 0, 0, true},
		{"session before manager", long, short, 0, 0, true},
		{"session without limit", short, -1, 0, 0, false},
		{"function before session", long, long, short, 0, true},
		{"function without limit", short, short, -1, 0, false},
		{"terminal before function", long, long, long, short, true},
		{"terminal before all", short, short, short, long, false},
		{"terminal without limit", short, short, short, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := p.NewManager(t, &acpterm.Options{
				Commands: acpterm.CommandOptions{Timeout: c.manager},
				CommandsFor: func(session acpterm.SessionID, command acpterm.Command) *acpterm.CommandOptions {
					require.Equal(t, acpterm.SessionID("s"), session)
					require.Equal(t, p.Program, command.Path)
					return &acpterm.CommandOptions{Timeout: c.function}
				},
			})
			require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{
				Commands: acpterm.CommandOptions{Timeout: c.session},
			}))
			term := Create(t, m, p.Child("sleep"), &acpterm.CommandOptions{Timeout: c.terminal})
			if c.expires {
				AwaitExit(t, term)
				require.Equal(t, acpterm.EndedByTimeout, term.EndedBy())
				return
			}
			AwaitOutput(t, term, "ready")
			require.Equal(t, acpterm.StateRunning, term.State())
		})
	}
}

// If an exit and a timeout happen at the same instant, one of them wins, and all reports agree.
func TestTimeoutAgainstANaturalExit(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	won := make(map[acpterm.EndedBy]int)
	for i := range longtest.Times(40, 100) { // each timeout twice, or more often
		timeout := time.Duration(1+i%20) * 500 * time.Microsecond
		term := Create(t, m, p.Child("exit", "0"), &acpterm.CommandOptions{Timeout: timeout})
		status := AwaitExit(t, term)
		by := term.EndedBy()
		require.Equal(t, EndedBy(by), status.Meta)
		require.Contains(t, []acpterm.EndedBy{acpterm.EndedByTimeout, acpterm.EndedByItself}, by)
		if by == acpterm.EndedByItself {
			require.True(t, status.Success())
		}
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		require.Equal(t, by, term.EndedBy(), "it stays so")
		won[by]++
	}
	t.Log(won)
}

// Law 5, in the Go API.
func TestReleaseLeavesTheHolderReading(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	term := CreateReady(t, m, p.Child("sleep"))
	waited := make(chan error, 1)
	go func() { _, err := term.Wait(context.Background()); waited <- err }()

	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	require.NoError(t, <-waited)
	_, err := m.Terminal("s", term.ID())
	require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
	require.Empty(t, m.Terminals())

	require.Equal(t, "ready\n", term.Output().Output)
	require.Equal(t, p.killedBy(), *term.Output().ExitStatus.Signal)
	status := AwaitExit(t, term)
	require.Equal(t, "signal "+p.killedBy(), status.String())
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	for chunk := range term.Follow(t.Context(), 0) { // and this ends
		require.Equal(t, "ready\n", chunk.Text)
	}
	require.NoError(t, term.Kill(t.Context()), "nothing is left to be killed")

	require.NoError(t, m.Release(t.Context(), "s", term.ID()), "a second time")
	require.ErrorIs(t, m.Release(t.Context(), "other", term.ID()), acpterm.ErrTerminalNotFound)
	require.ErrorIs(t, m.Release(t.Context(), "s", "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"), acpterm.ErrTerminalNotFound)
}

// The wait for the command and Follow end before the tree is gone: no process that is left has the output open.
func TestGoneWaitsForSilentChildrenAndTheirs(t *testing.T, p Place) {
	m := p.NewManager(t, nil)
	dir := p.TempDir(t)
	var names []string
	for i := range 3 {
		names = append(names, filepath.Join(dir, fmt.Sprint(i)))
	}
	term := Create(t, m, p.Child("leave-behind", names...))
	gone := term.Gone()
	require.True(t, AwaitExit(t, term).Success())
	for range term.Follow(t.Context(), 0) {
	}
	for _, name := range names {
		children.AwaitFile(p.path(name + ".awaited"))
		require.False(t, latch.IsClosed(gone))
		require.NoError(t, p.writeFile(name, nil, 0o600))
	}
	<-gone
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))

	term = Finish(t, m, p.Child("exit", "3"))
	<-term.Gone() // called after the exit
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	<-term.Gone()
	term = Create(t, m, p.Child("sleep"))
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	<-term.Gone() // called after the release
}
