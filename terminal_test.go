package acpterm_test

// Laws 1, 2, 3, 5 on the Go API, with real processes.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// create starts a child and fails the test if it does not start.
func create(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.TerminalOptions) *acpterm.Terminal {
	t.Helper()
	term, err := m.Create(t.Context(), req, first(options))
	require.NoError(t, err)
	return term
}

// first is the options of a call that may have none.
func first[T any](options []*T) *T {
	if len(options) == 0 {
		return nil
	}
	return options[0]
}

// createReady starts a child that says "ready", and waits for that.
func createReady(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.TerminalOptions) *acpterm.Terminal {
	t.Helper()
	term := create(t, m, req, options...)
	awaitOutput(t, term, "ready")
	return term
}

// finish runs a child to its end.
func finish(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest,
	options ...*acpterm.TerminalOptions) *acpterm.Terminal {
	t.Helper()
	term := create(t, m, req, options...)
	awaitExit(t, term)
	return term
}

// run runs a child to its end and returns its output.
func run(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest) acpterm.TerminalOutputResponse {
	t.Helper()
	return finish(t, m, req).Output()
}

// awaitExit waits for a command's end.
func awaitExit(t testing.TB, term *acpterm.Terminal) acpterm.TerminalExitStatus {
	t.Helper()
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	return status
}

// killedBy is the signal in the status of a command that was killed and did nothing about it.
func killedBy() string {
	if canAsk() {
		return "SIGTERM"
	}
	return "SIGKILL" // at once
}

// awaitOutput follows a terminal until its output has the text.
func awaitOutput(t testing.TB, term *acpterm.Terminal, text string) {
	t.Helper()
	var got strings.Builder
	for chunk := range term.Follow(t.Context(), 0) {
		got.WriteString(chunk.Text)
		if strings.Contains(got.String(), text) {
			return
		}
	}
	require.Contains(t, got.String(), text)
}

func TestExitStatus(t *testing.T) {
	m := newManager(t, nil)
	codes := []uint32{0, 1, 3, 127, 255}
	if runtime.GOOS == "windows" {
		codes = append(codes, 256, 0x7FFFFFFF, 0x80000000, 0xC0000005, 0xC000013A, 0xE0000009, 4294967295)
	}
	for _, code := range codes {
		out := run(t, m, childRequest("exit", fmt.Sprint(code)))
		require.Equal(t, &acpterm.TerminalExitStatus{ExitCode: new(code), Meta: endedBy(acpterm.EndedByItself)}, out.ExitStatus)
		require.Equal(t, code == 0, out.ExitStatus.Success())
	}
}

func TestStatesAndTimes(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, childRequest("polite"))
	require.Equal(t, acpterm.StateRunning, term.State())
	info := term.Info()
	created, started, ended := info.Created, info.Started, info.Ended
	require.False(t, created.IsZero())
	require.False(t, started.Before(created))
	require.True(t, ended.IsZero())
	require.Equal(t, acpterm.SessionID("s"), term.SessionID())
	require.Equal(t, executable(), term.Command().Path)
	require.Equal(t, []*acpterm.Terminal{term}, m.Terminals())

	awaitOutput(t, term, "ready")
	require.Nil(t, term.Output().ExitStatus)
	require.Empty(t, term.EndedBy())
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, acpterm.EndedByKill, term.EndedBy())
	ended = term.Info().Ended
	require.False(t, ended.Before(started))

	finished := finish(t, m, childRequest("exit", "0"))
	require.Equal(t, acpterm.EndedByItself, finished.EndedBy())
	require.NoError(t, finished.Kill(t.Context()), "to kill what has ended is no error")
	require.Equal(t, acpterm.EndedByItself, finished.EndedBy())
}

// What a terminal hands out, and what its creator keeps, may be changed without a change of the terminal.
func TestRequestAndCommandAreCopies(t *testing.T) {
	limit := uint64(1000)
	ask := func() acpterm.CreateTerminalRequest {
		req := childRequest("print", "x")
		req.Env = []acpterm.EnvVariable{{Name: "A", Value: "1", Meta: acpterm.Meta{"m": json.RawMessage(`1`)}}}
		req.Meta = acpterm.Meta{"m": json.RawMessage(`1`)}
		req.OutputByteLimit = &limit
		return req
	}
	change := func(req acpterm.CreateTerminalRequest) {
		req.Args[1], req.Env[0].Name, *req.OutputByteLimit = "changed", "B", 1
		req.Meta["m"][0], req.Env[0].Meta["m"][0] = '2', '2'
		req.Meta["n"], req.Env[0].Meta["n"] = nil, nil
		limit = 1000 // of what ask returns
	}
	m := newManager(t, nil)
	req := ask()
	term := create(t, m, req)
	change(req)
	require.Equal(t, ask(), term.Request())
	change(term.Request())
	require.Equal(t, ask(), term.Request())
	command := term.Command()
	args, env := slices.Clone(command.Args), slices.Clone(command.Env)
	command.Args[1], command.Env[0] = "changed", "CHANGED=1"
	require.Equal(t, args, term.Command().Args)
	require.Equal(t, env, term.Command().Env)
	awaitExit(t, term)
}

// A command that is asked to end ends in its own way; the exit code that it chooses is what is reported, or the signal.
func TestKillIsGracefulFirst(t *testing.T) {
	needsAsking(t)
	m := newManager(t, nil)
	term := createReady(t, m, childRequest("polite"))
	require.NoError(t, term.Kill(t.Context()))
	out := term.Output()
	require.Equal(t, "ready\nbye\n", out.Output)
	require.Equal(t, uint32(7), *out.ExitStatus.ExitCode)
	for asked, name := range map[syscall.Signal]string{syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT"} {
		step := acpterm.EscalationStep{Signal: asked, Wait: time.Hour}
		term := createReady(t, m, childRequest("sleep"), &acpterm.TerminalOptions{Escalation: []acpterm.EscalationStep{step}})
		require.NoError(t, term.Kill(t.Context()))
		want := &acpterm.TerminalExitStatus{Signal: &name, Meta: endedBy(acpterm.EndedByKill)}
		require.Equal(t, want, term.Output().ExitStatus)
	}
}

func TestKillForcesAfterTheGracePeriod(t *testing.T) {
	needsAsking(t)
	m := newManager(t, nil)
	term := createReady(t, m, childRequest("stubborn"),
		&acpterm.TerminalOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: 50 * time.Millisecond}}})
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}

// The grace is an hour: only the second Kill can end this.
func TestSecondKillForces(t *testing.T) {
	needsAsking(t)
	m := newManager(t, nil)
	term := createReady(t, m, childRequest("stubborn"),
		&acpterm.TerminalOptions{Escalation: []acpterm.EscalationStep{{Signal: syscall.SIGTERM, Wait: time.Hour}}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := term.Kill(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, acpterm.StateRunning, term.State())

	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, "SIGKILL", *term.Output().ExitStatus.Signal)
}

// Law 2: a wait ends when the command does, whatever holds the pipe, and its output is whole by then. The
// holder sleeps for minutes; a wait that waited for it would not come back before.
func TestWaitEndsWithTheCommand(t *testing.T) {
	m := newManager(t, nil)
	size := 60_000 // more than one read, and it fits into the pipe
	if runtime.GOOS == "windows" {
		size = 30_000 // a command line has room for no more
	}
	tail := strings.Repeat("x", size)
	for range 20 {
		out := run(t, m, childRequest("holder", tail))
		require.True(t, strings.HasSuffix(out.Output, "\n"+tail), "%d bytes", len(out.Output))
		require.NotNil(t, out.ExitStatus)
	}
}

func TestCommandSeesEndOfInputAndNoTerminal(t *testing.T) {
	m := newManager(t, nil)
	require.Equal(t, `"" <nil> eof`, run(t, m, childRequest("stdin")).Output)
	if runtime.GOOS != "windows" {
		require.Equal(t, "true", run(t, m, childRequest("tty")).Output)
	}
}

func TestWaitIsBoundedByItsContextOnly(t *testing.T) {
	m := newManager(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	term, err := m.Create(ctx, childRequest("sleep"), nil)
	require.NoError(t, err)
	cancel() // ends neither the command
	_, err = term.Wait(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, acpterm.StateRunning, term.State())
	awaitOutput(t, term, "ready") // nor its output
}

// Of all that could set it, what is nearest to the command sets its timeout.
func TestWhichTimeoutApplies(t *testing.T) {
	const short, long = time.Millisecond, time.Hour
	for _, c := range []struct {
		name                                 string
		manager, session, function, terminal time.Duration // 0: not set
		expires                              bool
	}{
		{"none", 0, 0, 0, 0, false},
		{"manager", short, 0, 0, 0, true},
		{"session before manager", long, short, 0, 0, true},
		{"session without limit", short, acpterm.NoTimeout, 0, 0, false},
		{"function before session", long, long, short, 0, true},
		{"function without limit", short, short, acpterm.NoTimeout, 0, false},
		{"terminal before function", long, long, long, short, true},
		{"terminal before all", short, short, short, long, false},
		{"terminal without limit", short, short, short, acpterm.NoTimeout, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newManager(t, &acpterm.Options{
				Timeout: c.manager,
				TimeoutFor: func(session acpterm.SessionID, command acpterm.Command) time.Duration {
					require.Equal(t, acpterm.SessionID("s"), session)
					require.Equal(t, executable(), command.Path)
					return c.function
				},
			})
			require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Timeout: c.session}))
			term := create(t, m, childRequest("sleep"), &acpterm.TerminalOptions{Timeout: c.terminal})
			if c.expires {
				awaitExit(t, term)
				require.Equal(t, acpterm.EndedByTimeout, term.EndedBy())
				return
			}
			awaitOutput(t, term, "ready")
			require.Equal(t, acpterm.StateRunning, term.State())
		})
	}
}

// An exit and a timeout in the same instant: one of them has won, and all that tells of it says the same.
func TestTimeoutAgainstANaturalExit(t *testing.T) {
	m := newManager(t, nil)
	won := make(map[acpterm.EndedBy]int)
	for i := range 100 {
		timeout := time.Duration(1+i%20) * 500 * time.Microsecond
		term := create(t, m, childRequest("exit", "0"), &acpterm.TerminalOptions{Timeout: timeout})
		status := awaitExit(t, term)
		by := term.EndedBy()
		require.Equal(t, endedBy(by), status.Meta)
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

// 200 writes, by turns to standard output and standard error, arrive in exactly this order.
func TestBothOutputsShareOneOrder(t *testing.T) {
	m := newManager(t, nil)
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	require.Equal(t, want.String(), run(t, m, childRequest("alternate", "200")).Output)
}

func TestOutputLimits(t *testing.T) {
	m := newManager(t, nil)
	for text, wants := range map[string]map[uint64]string{
		"aé✓😀": {0: "", 1: "", 2: "", 3: "", 4: "😀", 5: "😀", 100: "aé✓😀"},
		"😀✓é":  {0: "", 1: "", 2: "é", 3: "é", 4: "é", 5: "✓é", 100: "😀✓é"},
		"ééé":  {0: "", 1: "", 2: "é", 3: "é", 4: "éé", 5: "éé", 100: "ééé"},
	} {
		for limit, want := range wants {
			req := childRequest("print", text)
			req.OutputByteLimit = new(limit)
			out := run(t, m, req)
			require.Equal(t, want, out.Output, "%s at %d", text, limit)
			require.Equal(t, want != text, out.Truncated, "%s at %d", text, limit)
		}
	}
	for limit, want := range map[uint64]int{10: 3, 100: 33, 10_000: 1000} {
		req := childRequest("print", strings.Repeat("\xff", 1000))
		req.OutputByteLimit = new(limit)
		out := run(t, m, req)
		require.Equal(t, strings.Repeat("\uFFFD", want), out.Output, "at %d", limit)
		require.Equal(t, want < 1000, out.Truncated, "at %d", limit)
	}
}

func TestDefaultLimitAndCeiling(t *testing.T) {
	m := newManager(t, &acpterm.Options{OutputByteLimit: 1000, MaxOutputByteLimit: 2000})
	for limit, want := range map[*uint64]int{nil: 1000, new(uint64(1 << 63)): 2000, new(^uint64(0)): 2000, new(uint64(1500)): 1500} {
		req := childRequest("flood", "5000", "100")
		req.OutputByteLimit = limit
		out := run(t, m, req)
		require.Len(t, out.Output, want)
		require.True(t, out.Truncated)
	}
}

// A character that comes in two writes is never seen in half, and one that is never finished shows in the end.
func TestCharacterSplitByAPause(t *testing.T) {
	m := newManager(t, nil)
	file := filepath.Join(t.TempDir(), "go")
	for _, split := range []struct{ first, second, before, after string }{
		{"a\xe2\x9c", "\x93b", "a", "a✓b"},
		{"a\xf0", "\x9f\x98\x80", "a", "a😀"},
		{"a\xe2\x9c", "b", "a", "a\uFFFD\uFFFDb"},
		{"é", "\xf0\x9f\x98", "é", "é\uFFFD\uFFFD\uFFFD"},
	} {
		os.Remove(file + ".0")
		term := create(t, m, childRequest("pieces", file, strconv.Quote(split.first), strconv.Quote(split.second)))
		for term.OutputTotal() < int64(len(split.first)) {
			runtime.Gosched()
		}
		for range 3 { // polling changes nothing
			require.Equal(t, split.before, term.Output().Output)
		}
		require.False(t, term.Output().Truncated)
		require.NoError(t, os.WriteFile(file+".0", nil, 0o600))
		var followed strings.Builder
		for chunk := range term.Follow(t.Context(), 0) {
			require.True(t, utf8.ValidString(chunk.Text))
			followed.WriteString(chunk.Text)
		}
		require.Equal(t, split.after, term.Output().Output)
		require.Equal(t, split.after, followed.String())
	}
}

func TestThirtyTerminalsDoNotMix(t *testing.T) {
	m := newManager(t, nil)
	terms := make([]*acpterm.Terminal, 30)
	for i := range terms {
		terms[i] = create(t, m, childRequest("print", strings.Repeat(fmt.Sprintf("<%d>", i), 1000)))
	}
	for i, term := range terms {
		awaitExit(t, term)
		require.Equal(t, strings.Repeat(fmt.Sprintf("<%d>", i), 1000), term.Output().Output)
	}
}

// Live: the reader gets the first piece while the command waits for it to be read.
func TestFollowIsLive(t *testing.T) {
	m := newManager(t, nil)
	file := filepath.Join(t.TempDir(), "go")
	term := create(t, m, childRequest("pieces", file, `"1"`, `"2"`, `"3"`, `"4"`))
	var got []acpterm.Chunk
	for chunk := range term.Follow(t.Context(), 0) {
		require.NoError(t, os.WriteFile(fmt.Sprint(file, ".", len(got)), nil, 0o600))
		got = append(got, chunk)
	}
	require.Equal(t, []acpterm.Chunk{
		{Offset: 0, End: 1, Text: "1", Raw: "1"}, {Offset: 1, End: 2, Text: "2", Raw: "2"},
		{Offset: 2, End: 3, Text: "3", Raw: "3"}, {Offset: 3, End: 4, Text: "4", Raw: "4"},
	}, got)
}

// A reader that is too slow is told what it missed, to the byte, and the command did not wait for it.
func TestFollowTellsWhatWasMissed(t *testing.T) {
	m := newManager(t, &acpterm.Options{FollowBytes: 1000})
	req := childRequest("flood", "1000000", "1000")
	req.OutputByteLimit = new(uint64(10))
	term := finish(t, m, req) // nothing was read before
	var text, missed, at int64
	for chunk := range term.Follow(t.Context(), 0) {
		require.Equal(t, at+chunk.Missed, chunk.Offset)
		require.Equal(t, chunk.End-chunk.Offset, int64(len(chunk.Text)))
		text, missed, at = text+int64(len(chunk.Text)), missed+chunk.Missed, chunk.End
	}
	require.Equal(t, int64(1_000_000), text+missed)
	require.GreaterOrEqual(t, text, int64(1000), "FollowBytes were kept, whatever the agent's limit")
	require.Len(t, term.Output().Output, 10)
}

func TestFollowEndsWithItsContextAndItsLoop(t *testing.T) {
	m := newManager(t, nil)
	term := create(t, m, childRequest("sleep"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for chunk := range term.Follow(ctx, 0) {
		require.Equal(t, "ready\n", chunk.Text)
		cancel() // the loop ends, though there could be more
	}
	for range term.Follow(t.Context(), -5) {
		break
	}
}

// Law 5, on the Go API.
func TestReleaseLeavesTheHolderReading(t *testing.T) {
	m := newManager(t, nil)
	term := createReady(t, m, childRequest("sleep"))
	waited := make(chan error, 1)
	go func() { _, err := term.Wait(context.Background()); waited <- err }()

	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	require.NoError(t, <-waited)
	_, err := m.Terminal("s", term.ID())
	require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
	require.Empty(t, m.Terminals())

	require.Equal(t, "ready\n", term.Output().Output)
	require.Equal(t, killedBy(), *term.Output().ExitStatus.Signal)
	status := awaitExit(t, term)
	require.Equal(t, "signal "+killedBy(), status.String())
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	for chunk := range term.Follow(t.Context(), 0) { // and this ends
		require.Equal(t, "ready\n", chunk.Text)
	}
	require.NoError(t, term.Kill(t.Context()), "nothing is left to be killed")

	require.NoError(t, m.Release(t.Context(), "s", term.ID()), "a second time")
	require.ErrorIs(t, m.Release(t.Context(), "other", term.ID()), acpterm.ErrTerminalNotFound)
	require.ErrorIs(t, m.Release(t.Context(), "s", "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"), acpterm.ErrTerminalNotFound)
}
