package embedtest

// A manager's reactions to a Runner's answers. acptermtest shows that a good Runner's commands are like real ones.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/terminaltest"
)

// runnerStub is a Runner, and its only process, with answers given by the test.
type runnerStub struct {
	look  func(context.Context, acpterm.Command) (string, error)               // if nil, the command exists
	start func(context.Context, acpterm.StartRequest) (acpterm.Process, error) // if nil, the stub, without output
	wait  func() (acpterm.TerminalExitStatus, error)                           // if nil, exit code 0
	gone  chan struct{}                                                        // if nil, closed
	err   error                                                                // about remaining processes
	pid   int
}

func (s runnerStub) Base(context.Context) (string, []string, error) { return "", nil, nil }

func (s runnerStub) RealDir(_ context.Context, dir string) (string, error) { return dir, nil }

func (s runnerStub) LookPath(ctx context.Context, c acpterm.Command) (acpterm.Found, error) {
	if s.look != nil {
		path, err := s.look(ctx, c)
		return acpterm.Found{Path: path}, err
	}
	return acpterm.Found{Path: "/bin/x"}, nil
}

func (s runnerStub) Start(ctx context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
	if s.start != nil {
		return s.start(ctx, l)
	}
	l.Output.Close()
	return s, nil
}

func (s runnerStub) Wait() (acpterm.TerminalExitStatus, error) {
	if s.wait != nil {
		return s.wait()
	}
	return acpterm.TerminalExitStatus{ExitCode: new(uint32)}, nil
}

func (s runnerStub) Signal(syscall.Signal) {
	if s.gone == nil {
		log.Fatal("a signal for a tree that is gone")
	}
}

func (s runnerStub) PID() int { return s.pid }

func (s runnerStub) Err() error { return s.err }

func (s runnerStub) Limits() []acpterm.EnforcedLimit { return nil }

func (s runnerStub) Close() {}

func (s runnerStub) Gone() <-chan struct{} {
	if s.gone != nil {
		return s.gone
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

// slowToEnd returns a Runner whose process ends when the test closes a channel.
func slowToEnd(ended chan struct{}) runnerStub {
	return runnerStub{gone: ended, wait: func() (acpterm.TerminalExitStatus, error) {
		<-ended
		return acpterm.TerminalExitStatus{Signal: new("SIGTERM")}, nil
	}}
}

// keeping returns a Runner that records its requests. Its commands end as soon as they start.
func keeping(looked, launched *[]acpterm.Command) (s runnerStub) {
	s.look = func(_ context.Context, c acpterm.Command) (string, error) {
		*looked = append(*looked, c)
		return "/bin/x", nil
	}
	s.start = func(ctx context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
		*launched = append(*launched, l.Command)
		return runnerStub{}.Start(ctx, l)
	}
	return s
}

// createX holds the params of a create of "x" in session "s".
var createX = json.RawMessage(`{"sessionId":"s","command":"x"}`)

func TestRunnersStatuses(t *testing.T) {
	failed := errors.New("the container is gone")
	connectionLost := &acpterm.Error{Kind: acpterm.ErrConnectionLost, Reason: "the cable is cut"}
	closed := &acpterm.Error{Kind: acpterm.ErrConnectionLost, Err: fmt.Errorf("write |1: %w", os.ErrClosed)}
	for _, c := range []struct {
		name   string
		status acpterm.TerminalExitStatus
		err    error // of the process's Wait
		want   error // of the terminal's
	}{
		{"code", acpterm.TerminalExitStatus{ExitCode: new(uint32(3))}, nil, nil},
		{"signal", acpterm.TerminalExitStatus{Signal: new("SIGHUP")}, nil, nil},
		{"neither", acpterm.TerminalExitStatus{}, nil, acpterm.ErrExitLost},
		{"connection lost", acpterm.TerminalExitStatus{}, connectionLost, acpterm.ErrConnectionLost},
		{"connection closed", acpterm.TerminalExitStatus{}, closed, acpterm.ErrConnectionLost},
		{"end not seen", acpterm.TerminalExitStatus{}, failed, failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			wait := func() (acpterm.TerminalExitStatus, error) { return c.status, c.err }
			m := hosttest.NewManager(t, &acpterm.Options{Runner: runnerStub{wait: wait}})
			term := hosttest.Create(t, m, hosttest.CommandRequest("x"))
			status, err := term.Wait(t.Context())
			require.ErrorIs(t, err, c.want)
			lost := errors.Is(c.want, acpterm.ErrConnectionLost)
			require.Equal(t, lost, term.EndedBy() == acpterm.EndedByLostConnection)
			if c.want == nil {
				require.Equal(t, c.status.ExitCode, status.ExitCode)
				require.Equal(t, c.status.Signal, status.Signal)
			}
			require.Nil(t, term.Info().Limits)
			require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		})
	}
}

// A connection lost while a command is being ended counts as the end of that command, even if the Runner closes Gone
// just before its Wait returns.
func TestConnectionLostDuringAnEnd(t *testing.T) {
	lost := &acpterm.Error{Kind: acpterm.ErrConnectionLost, Err: os.ErrClosed}
	for name, end := range map[string]func(*acpterm.Manager, *acpterm.Terminal) error{
		"Kill": func(_ *acpterm.Manager, term *acpterm.Terminal) error { return term.Kill(context.Background()) },
		"Release": func(m *acpterm.Manager, term *acpterm.Terminal) error {
			return m.Release(context.Background(), "s", term.ID())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stub := runnerStub{gone: make(chan struct{}), err: lost}
				stub.wait = func() (acpterm.TerminalExitStatus, error) {
					<-stub.gone
					time.Sleep(time.Second)
					return acpterm.TerminalExitStatus{}, lost
				}
				process := stub
				stub.start = func(context.Context, acpterm.StartRequest) (acpterm.Process, error) { return process, nil }
				m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Runner: stub}))
				term, err := m.Create(t.Context(), hosttest.CommandRequest("x"), nil)
				require.NoError(t, err)
				gone := term.Gone()
				ended := make(chan error, 1)
				go func() { ended <- end(m, term) }()
				synctest.Wait()
				close(stub.gone)
				require.ErrorIs(t, <-ended, acpterm.ErrConnectionLost)
				_, err = term.Wait(t.Context())
				require.ErrorIs(t, err, acpterm.ErrConnectionLost)
				require.Equal(t, acpterm.EndedByLostConnection, term.EndedBy())
				m.Close()
				require.False(t, latch.IsClosed(gone), "whether the tree is gone is not known")
			})
		})
	}
}

// After the end of a create's context, an error of the Runner means that end.
func TestRunnersErrorsAfterTheContext(t *testing.T) {
	errStop := errors.New("the user has seen enough")
	for name, failure := range map[string]func(context.Context) error{
		"the context's": func(ctx context.Context) error { return ctx.Err() },
		"its own":       func(context.Context) error { return errors.New("connection reset") },
		"of a kind":     func(context.Context) error { return &acpterm.Error{Kind: acpterm.ErrCommandNotFound} },
	} {
		look := func(ctx context.Context, _ acpterm.Command) (string, error) {
			<-ctx.Done()
			return "", failure(ctx)
		}
		start := func(ctx context.Context, _ acpterm.StartRequest) (acpterm.Process, error) {
			<-ctx.Done()
			return nil, failure(ctx)
		}
		for _, c := range []struct {
			name, command string
			runner        runnerStub
			shell         acpterm.ShellMode
		}{
			{"Look", "x", runnerStub{look: look}, acpterm.ShellAuto},
			{"Look for a shell", "x y", runnerStub{look: look}, acpterm.ShellAlways},
			{"Start", "x", runnerStub{start: start}, acpterm.ShellAuto},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				m := hosttest.NewManager(t, &acpterm.Options{
					Runner:   c.runner,
					Commands: acpterm.CommandOptions{ShellLines: c.shell},
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Millisecond, func() { cancel(errStop) })
				_, err := m.Create(ctx, hosttest.CommandRequest(c.command), nil)
				require.IsType(t, (*acpterm.Error)(nil), err)
				require.ErrorIs(t, err, acpterm.ErrCancelled)
				require.ErrorIs(t, err, errStop)
				require.NotErrorIs(t, err, acpterm.ErrCommandNotFound)
				require.Equal(t, "create", err.(*acpterm.Error).Op)
				require.Empty(t, m.Terminals())
			})
		}
	}
}

// If the request has no cwd, the agent is not to blame for the directory, even when the command is started.
func TestADirectoryThatTheAgentHasNotChosen(t *testing.T) {
	noDir := &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: "cwd", Reason: "no such directory"}
	start := func(context.Context, acpterm.StartRequest) (acpterm.Process, error) { return nil, noDir }
	m := hosttest.NewManager(t, &acpterm.Options{Runner: runnerStub{start: start}})
	req := hosttest.CommandRequest("x")
	_, err := m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrInternal)
	require.NotErrorIs(t, err, acpterm.ErrInvalidParams)
	require.ErrorContains(t, err, "no such directory")
	req.Cwd = "/there"
	_, err = m.Create(t.Context(), req, nil)
	require.ErrorIs(t, err, acpterm.ErrInvalidParams)
	require.Equal(t, "cwd", err.(*acpterm.Error).Field)
}

// Whatever a Runner returns, a failed create returns an *Error, and never panics.
func TestRunnersErrorsAreErrors(t *testing.T) {
	failed := errors.New("the container is gone")
	notFound := &acpterm.Error{Kind: acpterm.ErrCommandNotFound, Command: "x"}
	noDir := &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: "cwd"}
	for _, c := range []struct {
		name string
		path string
		err  error
		kind acpterm.Kind
		says string
	}{
		{"plain", "", failed, acpterm.ErrInternal, "the container is gone"},
		{"plain, with a path", "/bin/x", failed, acpterm.ErrInternal, "the container is gone"},
		{"of the system", "", os.ErrPermission, acpterm.ErrInternal, "permission denied"},
		{"of a kind", "", notFound, acpterm.ErrCommandNotFound, `"x": command not found`},
		{"of another kind", "", noDir, acpterm.ErrInvalidParams, "cwd"},
		{"wrapped", "", fmt.Errorf("in the container: %w", notFound), acpterm.ErrCommandNotFound, "in the container"},
		{"nil of the type", "", (*acpterm.Error)(nil), acpterm.ErrInternal, `"x": cannot be`},
		{"nothing", "", nil, acpterm.ErrInternal, `"x": cannot be`},
	} {
		look := func(context.Context, acpterm.Command) (string, error) { return c.path, c.err }
		start := func(context.Context, acpterm.StartRequest) (acpterm.Process, error) { return nil, c.err }
		for name, runner := range map[string]runnerStub{"Look": {look: look}, "Start": {start: start}} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				m := hosttest.NewManager(t, &acpterm.Options{Runner: runner})
				req := hosttest.CommandRequest("x")
				req.Cwd = "/there"
				_, err := m.Create(t.Context(), req, nil)
				require.IsType(t, (*acpterm.Error)(nil), err)
				require.ErrorIs(t, err, c.kind)
				require.Equal(t, c.err == failed, errors.Is(err, failed))
				require.ErrorContains(t, err, c.says)
				require.Equal(t, "create", err.(*acpterm.Error).Op)
				require.Equal(t, acpterm.SessionID("s"), err.(*acpterm.Error).SessionID)
				require.Empty(t, m.Terminals())
			})
		}
	}
}

// If a Runner's function panics, only the operation that called it fails.
func TestRunnersPanics(t *testing.T) {
	for name, runner := range map[string]runnerStub{
		"Look":  {look: func(context.Context, acpterm.Command) (string, error) { panic("a test's Look panics") }},
		"Start": {start: func(context.Context, acpterm.StartRequest) (acpterm.Process, error) { panic("a test's Start panics") }},
		"Wait":  {wait: func() (acpterm.TerminalExitStatus, error) { panic("a test's Wait panics") }},
	} {
		m := hosttest.NewManager(t, &acpterm.Options{
			Runner:   runner,
			Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}},
		})
		term, err := m.Create(t.Context(), hosttest.CommandRequest("x"), nil)
		if name == "Wait" {
			require.NoError(t, err)
			_, err = term.Wait(t.Context())
		} else {
			require.Empty(t, m.Terminals())
		}
		require.ErrorIs(t, err, acpterm.ErrInternal, name)
		require.ErrorContains(t, err, name)
	}
}

// A create cancelled during the look-up of its command runs nothing, because its decision is not recorded.
func TestACancelledCreateRunsNothingUnrecorded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	recorded, started := false, false
	m := hosttest.NewManager(t, &acpterm.Options{
		Record: func(context.Context, acpterm.Event) error { recorded = true; return nil },
		Runner: runnerStub{
			look: func(context.Context, acpterm.Command) (string, error) {
				cancel()
				return "/bin/x", nil
			},
			start: func(context.Context, acpterm.StartRequest) (acpterm.Process, error) {
				started = true
				require.True(t, recorded)
				return nil, errors.New("it was started")
			},
		},
	})
	_, err := m.Create(ctx, hosttest.CommandRequest("x"), nil)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.False(t, started)
}

// A Runner gets only the directory and the environment set by the options and the request, and nothing from this
// system.
func TestRunnerIsSentNothingOfThisSystem(t *testing.T) {
	t.Setenv("ACPTERM_TEST_SECRET", "secret")
	root := t.TempDir()
	for _, c := range []struct {
		name    string
		options acpterm.Options
		session acpterm.SessionOptions
		request acpterm.CreateTerminalRequest
		dir     string
		env     []string
	}{
		{name: "nothing"},
		{name: "of the request", env: []string{"A=1"},
			request: acpterm.CreateTerminalRequest{Env: []acpterm.EnvVariable{{Name: "A", Value: "1"}}}},
		{name: "of the options", dir: "/there", env: []string{"B=2"},
			options: acpterm.Options{Commands: acpterm.CommandOptions{Dir: "/there", Env: []string{"B=2"}}}},
		{name: "of the session", dir: "/there", env: []string{"C=3"},
			session: acpterm.SessionOptions{Commands: acpterm.CommandOptions{Dir: "/there", Env: []string{"C=3"}}}},
		{name: "a root", session: acpterm.SessionOptions{Roots: []string{root}}, dir: root},
		{name: "a cwd", request: acpterm.CreateTerminalRequest{Cwd: "/there"}, dir: "/there"},
		{name: "an empty environment", options: acpterm.Options{Commands: acpterm.CommandOptions{Env: []string{}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var looked, launched []acpterm.Command
			c.options.Runner = keeping(&looked, &launched)
			c.options.Policy = acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
				require.Equal(t, c.dir, p.Command.Dir)
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			})
			m := hosttest.Must(acpterm.NewManager(&c.options)) // hosttest.NewManager would add a variable
			defer m.Close()
			require.NoError(t, m.OpenSession("s", &c.session))
			c.request.SessionID, c.request.Command = "s", "x"
			term := hosttest.Create(t, m, c.request)
			env := append(terminaltest.Unattended(), c.env...)
			if strings.HasPrefix(c.dir, "/") {
				env = append(env, "PWD="+c.dir)
			}
			require.Equal(t, c.dir, looked[0].Dir)
			require.ElementsMatch(t, env, looked[0].Env)
			require.Equal(t, c.dir, launched[0].Dir)
			require.ElementsMatch(t, append(env, "ACPTERM_TERMINAL="+string(term.ID())), launched[0].Env)
		})
	}
}

// Closing a handler also waits for releases of its terminals in progress.
func TestCloseWaitsForAReleaseUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Runner: slowToEnd(ended)}))
		h := acpterm.NewHandler(m, nil)
		created, err := h.Dispatch(t.Context(), acpterm.MethodCreate, createX)
		require.NoError(t, err)
		id := created.(acpterm.CreateTerminalResponse).TerminalID
		released := make(chan error, 1)
		go func() {
			params := json.RawMessage(`{"sessionId":"s","terminalId":"` + string(id) + `"}`)
			_, err := h.Dispatch(t.Context(), acpterm.MethodRelease, params)
			released <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- h.Close() }()
		synctest.Wait()
		require.Empty(t, closed, "the tree runs still")
		close(ended)
		require.NoError(t, <-closed)
		<-released
		require.NoError(t, m.Close())
	})
}

// If a process in a terminal has terminals itself, the outer terminal is listed first.
func TestTerminalInATerminal(t *testing.T) {
	m := hosttest.NewManager(t, &acpterm.Options{
		Runner:   runnerStub{},
		Commands: acpterm.CommandOptions{Env: []string{"A=1", "ACPTERM_TERMINAL=term_outer", "B=2"}},
	})
	for range 2 { // the options' environment stays unchanged
		term := hosttest.Create(t, m, hosttest.CommandRequest("x"))
		require.Contains(t, term.Command().Env, "ACPTERM_TERMINAL=term_outer:"+string(term.ID()))
	}
}

// The id is unknown from the first moment of a release, however long the tree takes to end.
func TestReleasedIDIsDeadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Runner: slowToEnd(ended)}))
		h := acpterm.NewHandler(m, nil)
		term := hosttest.Create(t, m, hosttest.CommandRequest("x"))
		released := make(chan error, 1)
		go func() { released <- m.Release(t.Context(), "s", term.ID()) }()
		synctest.Wait()
		require.Empty(t, released, "the tree runs still")
		params := json.RawMessage(`{"sessionId":"s","terminalId":"` + string(term.ID()) + `"}`)
		for _, method := range []string{acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill} {
			_, err := h.Dispatch(t.Context(), method, params)
			require.ErrorIs(t, err, acpterm.ErrTerminalNotFound, method)
		}
		_, err := m.Terminal("s", term.ID())
		require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
		require.Empty(t, m.Terminals())
		_, err = h.Dispatch(t.Context(), acpterm.MethodRelease, params)
		require.NoError(t, err, "a second release is no error")
		close(ended)
		require.NoError(t, <-released)
		require.NoError(t, m.Close())
	})
}

// vanished returns a Runner whose process ignores every signal. The Runner hears nothing of it until the test calls
// hear.
func vanished() (s runnerStub, hear func()) {
	s.pid = 7
	s.gone = make(chan struct{})
	s.wait = func() (acpterm.TerminalExitStatus, error) {
		<-s.gone
		return acpterm.TerminalExitStatus{Signal: new("SIGKILL")}, nil
	}
	process := s
	s.start = func(_ context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
		io.WriteString(l.Output, "hello")
		return process, nil
	}
	return s, sync.OnceFunc(func() { close(s.gone) })
}

// A lost process is reported, and blocks nothing.
func TestProcessIsNeverHeardOfAgain(t *testing.T) {
	const grace, force = 5 * time.Second, 10 * time.Second // of the default escalation
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		ends  func(*acpterm.Manager, *acpterm.Terminal) error
		takes time.Duration
	}{
		{"Release", func(m *acpterm.Manager, term *acpterm.Terminal) error {
			return m.Release(ctx, "s", term.ID())
		}, grace + force},
		{"Release after Kill", func(m *acpterm.Manager, term *acpterm.Terminal) error {
			require.ErrorIs(t, term.Kill(ctx), acpterm.ErrSurvivors)
			return m.Release(ctx, "s", term.ID())
		}, 2 * (grace + force)},
		{"Close", func(m *acpterm.Manager, _ *acpterm.Terminal) error { return m.Close() }, force},
		{"Shutdown", func(m *acpterm.Manager, _ *acpterm.Terminal) error { return m.Shutdown(ctx) }, grace + force},
		{"Close of a handler", func(m *acpterm.Manager, _ *acpterm.Terminal) error {
			h := acpterm.NewHandler(m, nil)
			_, err := h.Dispatch(ctx, acpterm.MethodCreate, createX)
			require.NoError(t, err)
			return h.Close()
		}, grace + force},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runner, hear := vanished()
				defer hear()
				var ends []*acpterm.EndEvent
				var survivors []*acpterm.SurvivorsEvent
				m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Runner: runner}))
				m.Observe(func(e acpterm.Event) {
					switch e := e.(type) {
					case *acpterm.EndEvent:
						ends = append(ends, e)
					case *acpterm.SurvivorsEvent:
						survivors = append(survivors, e)
					}
				})
				term, err := m.Create(ctx, hosttest.CommandRequest("x"), nil)
				require.NoError(t, err)
				waited := make(chan error, 1)
				go func() {
					_, err := term.Wait(ctx)
					waited <- err
				}()
				begin := time.Now()
				err = within(t, func() error { return c.ends(m, term) })
				require.ErrorIs(t, err, acpterm.ErrSurvivors)
				e, ok := errors.AsType[*acpterm.Error](err)
				require.True(t, ok)
				require.Equal(t, []int{7}, e.PIDs)
				require.Equal(t, c.takes, time.Since(begin))

				within(t, m.Close) // another terminal's survivors may be its error
				require.Empty(t, m.Terminals())
				err = within(t, func() error { return <-waited })
				require.IsType(t, (*acpterm.Error)(nil), err)
				require.ErrorIs(t, err, acpterm.ErrInternal)
				require.ErrorContains(t, err, "was not seen")
				_, again := term.Wait(ctx)
				require.Equal(t, err, again)
				<-term.Done()
				out := term.Output()
				require.Equal(t, "hello", out.Output)
				require.Nil(t, out.ExitStatus)
				for range term.Follow(ctx, int64(len(out.Output))) {
					require.Fail(t, "there is no more output")
				}
				require.NotEmpty(t, survivors)
				require.Equal(t, []int{7}, survivors[0].Survivors)
				for _, event := range ends {
					require.Nil(t, event.Status)
				}

				hear() // too late: nothing changes
				synctest.Wait()
				_, again = term.Wait(ctx)
				require.Equal(t, err, again)
			})
		})
	}
}

// A kill names the command's PID only while the command runs there: later, the PID may be that of another process.
func TestSurvivorsOfARunner(t *testing.T) {
	for _, c := range []struct {
		name   string
		exited bool
		pid    int
		pids   []int
		doubt  string
	}{
		{"the command", false, 7, []int{7}, ""},
		{"others", true, 7, nil, "processes of the tree may be running"},
		{"unknown PID", false, 0, nil, "processes of the tree may be running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stub, gone := vanished()
				defer gone()
				stub.pid = c.pid
				if c.exited {
					stub.wait = nil
				}
				process := stub
				stub.start = func(context.Context, acpterm.StartRequest) (acpterm.Process, error) { return process, nil }
				var survivors [][]int
				m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Runner: stub}))
				m.Observe(func(e acpterm.Event) {
					if e, ok := e.(*acpterm.SurvivorsEvent); ok {
						survivors = append(survivors, e.Survivors)
					}
				})
				term := hosttest.Create(t, m, hosttest.CommandRequest("x"))
				synctest.Wait()
				err := term.Kill(t.Context())
				failure, ok := errors.AsType[*acpterm.Error](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, acpterm.ErrSurvivors, failure.Kind)
				require.Equal(t, c.pids, failure.PIDs)
				if c.doubt != "" {
					require.ErrorContains(t, err, c.doubt)
				}
				synctest.Wait()
				require.Equal(t, [][]int{c.pids}, survivors)
				gone()
				require.NoError(t, m.Close())
			})
		})
	}
}

// within calls a function that must return within an hour of the bubble's time.
func within(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Hour):
		require.Fail(t, "it hangs")
		return nil
	}
}
