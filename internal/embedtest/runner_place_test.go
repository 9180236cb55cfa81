package embedtest

// A manager's questions to a Runner about the place that runs commands, and the effect of a lost connection.

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/stretchr/testify/require"
)

// placeStub is a Runner for a place with a home directory and links. Its commands end as soon as they start.
type placeStub struct {
	runnerStub
	links    map[string]string // links to directories and programs
	looked   []acpterm.Command
	started  []acpterm.StartRequest
	resolved error // if set, RealDir fails with it
	limits   []acpterm.EnforcedLimit
	closed   atomic.Int32 // calls of the process's Close
}

func (s *placeStub) Base(context.Context) (dir string, env []string, err error) {
	env = []string{"PATH=/far/bin", "Path=/x", "http_proxy=a", "HTTP_PROXY=b", "PWD=/old", "HOME=/home/far"}
	return "/home/far", env, nil
}

func (s *placeStub) real(path string) string {
	if to, ok := s.links[path]; ok {
		return to
	}
	return path
}

func (s *placeStub) RealDir(_ context.Context, dir string) (string, error) {
	return s.real(dir), s.resolved
}

func (s *placeStub) LookPath(_ context.Context, c acpterm.Command) (acpterm.Found, error) {
	s.looked = append(s.looked, c)
	name := c.Args[0]
	path := name
	if name[0] != '/' {
		path = "/far/bin/" + name
	}
	return acpterm.Found{Path: s.real(path), Name: name, Dir: s.real(c.Dir), Pin: "pin of " + path}, nil
}

func (s *placeStub) Start(_ context.Context, r acpterm.StartRequest) (acpterm.Process, error) {
	s.started = append(s.started, r)
	r.Output.Close()
	return s, nil
}

func (s *placeStub) Limits() []acpterm.EnforcedLimit { return s.limits }

func (s *placeStub) Close() { s.closed.Add(1) }

// newPlaceManager is like hosttest.NewManager, but does not add a variable.
func newPlaceManager(t *testing.T, options acpterm.Options, hooks ...func(acpterm.Event)) *acpterm.Manager {
	m := hosttest.Must(acpterm.NewManager(&options))
	for _, hook := range hooks {
		m.Observe(hook)
	}
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func TestTheRunnersDirectoryAndEnvironmentAreTheBase(t *testing.T) {
	t.Setenv("ACPTERM_TEST_SECRET", "secret")
	place := &placeStub{}
	m := newPlaceManager(t, acpterm.Options{Runner: place, Commands: acpterm.CommandOptions{Unattended: []string{}}})
	req := hosttest.CommandRequest("tool")
	req.Env = []acpterm.EnvVariable{{Name: "HOME", Value: "/tmp"}, {Name: "A", Value: "1"}}
	term := hosttest.Create(t, m, req)
	require.Equal(t, "/home/far", term.Command().Dir)
	require.Equal(t, "/far/bin/tool", term.Command().Path)
	require.ElementsMatch(t, []string{
		"PATH=/far/bin", "Path=/x", "http_proxy=a", "HTTP_PROXY=b", "HOME=/tmp", "A=1", "PWD=/home/far",
		"ACPTERM_TERMINAL=" + string(term.ID()),
	}, term.Command().Env)
}

// Policies see programs and directories without links, and the original name. The start request contains the pin of the
// program and directory they saw.
func TestPoliciesSeeWhatTheRunnerFound(t *testing.T) {
	place := &placeStub{links: map[string]string{"/far/bin/vi": "/far/lib/vim", "/link": "/far/dir", "/other": "/far/other"}}
	var seen []acpterm.Proposal
	m := newPlaceManager(t, acpterm.Options{Runner: place, Policy: acpterm.PolicyFunc(
		func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
			seen = append(seen, p)
			d := acpterm.Decision{Verdict: acpterm.VerdictAllow}
			if p.Name == "vi" && len(p.Command.Args) > 1 {
				d.Change = &acpterm.Command{Path: "/far/bin/ed", Args: []string{"ed"}, Dir: "/other", Env: p.Command.Env}
			}
			dir, err := p.RealDir(ctx, "/link")
			require.NoError(t, err)
			require.Equal(t, "/far/dir", dir)
			path, err := p.LookPath(ctx, "vi")
			require.NoError(t, err)
			require.Equal(t, "/far/lib/vim", path)
			_, err = p.RealDir(ctx, "relative")
			require.ErrorIs(t, err, acpterm.ErrInvalidParams)
			return d
		},
	)})
	req := hosttest.CommandRequest("vi")
	req.Cwd = "/link"
	term := hosttest.Create(t, m, req)
	require.Equal(t, "vi", seen[0].Name)
	require.Equal(t, "/far/lib/vim", seen[0].Command.Path)
	require.Equal(t, "/far/dir", seen[0].Command.Dir)
	require.Contains(t, term.Command().Env, "PWD=/far/dir")
	require.Equal(t, "pin of /far/bin/vi", place.started[0].Pin)
	require.Equal(t, term.Command(), place.started[0].Command)

	req.Args = []string{"file"}
	hosttest.Create(t, m, req)
	require.Len(t, seen, 3, "the changed command is decided about anew")
	require.Equal(t, "/far/other", seen[2].Command.Dir)
	require.Equal(t, "/far/bin/ed", seen[2].Command.Path)
	require.Equal(t, []string{"ed"}, seen[2].Command.Args)
	require.Equal(t, "pin of /far/bin/ed", place.started[1].Pin)
}

// The Runner resolves roots. They are compared, case-sensitively, with the directory that it resolved.
func TestRootsAreTheRunners(t *testing.T) {
	place := &placeStub{links: map[string]string{"/link": "/srv/Project", "/srv/Project/out": "/etc"}}
	m := newPlaceManager(t, acpterm.Options{Runner: place})
	require.NoError(t, m.OpenSession("s", &acpterm.SessionOptions{Roots: []string{"/link"}}))
	for cwd, allowed := range map[string]bool{
		"": true, "/link": true, "/srv/Project/a": true, "/srv/Project/../Project": true,
		"/srv/Project/out": false, "/srv/Project/../x": false, "/srv/Projects": false, "/srv/project": false, "/": false,
	} {
		req := hosttest.CommandRequest("tool")
		req.Cwd = cwd
		_, err := m.Create(t.Context(), req, nil)
		require.Equal(t, !allowed, errors.Is(err, acpterm.ErrDenied), "%q: %v", cwd, err)
	}
	require.NoError(t, m.AddRoot("s", "/"))
	req := hosttest.CommandRequest("tool")
	req.Cwd = "/anywhere"
	hosttest.Create(t, m, req)

	for _, c := range []struct {
		roots []string
		err   error
		kind  acpterm.Kind
		field string
	}{
		{[]string{"relative"}, nil, acpterm.ErrInternal, "SessionOptions.Roots[0]"},
		{[]string{"/missing"}, &acpterm.Error{Kind: acpterm.ErrInvalidParams, Reason: "no such directory"},
			acpterm.ErrInternal, "SessionOptions.Roots[0]"},
		{[]string{"/x"}, &acpterm.Error{Kind: acpterm.ErrConnectionLost}, acpterm.ErrConnectionLost, ""},
		{[]string{"/x"}, errors.New("out of order"), acpterm.ErrInternal, ""},
	} {
		place.resolved = c.err
		err := m.OpenSession("other", &acpterm.SessionOptions{Roots: c.roots})
		require.ErrorIs(t, err, c.kind)
		failure, _ := errors.AsType[*acpterm.Error](err)
		require.Equal(t, c.field, failure.Field)
	}
}

// Limits that a Runner claims to enforce are reported, and a release closes its process once.
func TestTheRunnersLimitsAndTheProcessesClose(t *testing.T) {
	limits := []acpterm.EnforcedLimit{{Name: "Memory", Value: 1 << 30, By: "cgroup", Tree: true}}
	place := &placeStub{limits: limits}
	m := newPlaceManager(t, acpterm.Options{
		Runner:   place,
		Commands: acpterm.CommandOptions{Limits: &acpterm.Limits{Memory: 1 << 30}},
	})
	term := hosttest.Create(t, m, hosttest.CommandRequest("tool"))
	require.Equal(t, limits, term.Info().Limits)
	require.NoError(t, term.Kill(t.Context()))
	require.Zero(t, place.closed.Load())
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	require.EqualValues(t, 1, place.closed.Load())
}

// A lost connection is neither an exit nor an end. Waits, kills and the release report it, the output can still be
// read, and other commands keep running.
func TestALostConnectionIsNeitherAnExitNorAnEnd(t *testing.T) {
	lose, others := make(chan struct{}), make(chan struct{})
	ends := make(chan *acpterm.EndEvent, 3)
	m := newPlaceManager(t, acpterm.Options{
		Runner: acptermtest.Commands{
			"lost": func(p *acptermtest.Process) int {
				p.Write([]byte("before"))
				<-lose
				p.LoseConnection()
				return 0
			},
			"other": func(*acptermtest.Process) int { <-others; return 7 },
		},
	}, func(e acpterm.Event) {
		if e, ok := e.(*acpterm.EndEvent); ok {
			ends <- e
		}
	})
	a := hosttest.Connect(t, m, nil)
	create := func(command string) acpterm.TerminalID {
		return a.CreateRequest(hosttest.Object{"sessionId": "s", "command": command})
	}
	lost, other := create("lost"), create("other")
	wait := a.Begin(acpterm.MethodWaitForExit, hosttest.Object{"sessionId": "s", "terminalId": lost})
	close(lose)
	data := `{"kind":"connection_lost","reason":"acptermtest: a script has lost the connection","sessionId":"s",` +
		`"terminalId":"` + string(lost) + `"}`
	a.Failed(wait.Wait(t.Context(), nil), -32603, data)
	end := <-ends
	require.Nil(t, end.Status)
	require.Equal(t, acpterm.EndedByLostConnection, end.EndedBy)
	for _, method := range []string{acpterm.MethodWaitForExit, acpterm.MethodKill} {
		_, err := a.Do(method, hosttest.Object{"sessionId": "s", "terminalId": lost})
		a.Failed(err, -32603, data)
	}
	out := a.Output(lost)
	require.Equal(t, "before", out.Output)
	require.Nil(t, out.ExitStatus)
	_, err := a.Do(acpterm.MethodRelease, hosttest.Object{"sessionId": "s", "terminalId": lost})
	a.Failed(err, -32603, data)
	a.MustDo(acpterm.MethodRelease, hosttest.Object{"sessionId": "s", "terminalId": lost})

	close(others)
	require.JSONEq(t, `{"exitCode":7,"signal":null,"_meta":{"acpterm":{"endedBy":"finished"}}}`,
		string(a.MustDo(acpterm.MethodWaitForExit, hosttest.Object{"sessionId": "s", "terminalId": other})))
	again := hosttest.Must(m.Create(t.Context(), hosttest.CommandRequest("other"), nil))
	_, err = again.Wait(t.Context())
	require.NoError(t, err)
}

// Close, Shutdown and CloseSession end the creates that wait for a Runner.
func TestCreatesDoNotWaitForARunnerOnceItIsOver(t *testing.T) {
	type hang func(ctx context.Context) error
	for name, runner := range map[string]func(hang) runnerStub{
		"LookPath": func(h hang) runnerStub {
			return runnerStub{look: func(ctx context.Context, _ acpterm.Command) (string, error) { return "", h(ctx) }}
		},
		"Start": func(h hang) runnerStub {
			return runnerStub{start: func(ctx context.Context, _ acpterm.StartRequest) (acpterm.Process, error) {
				return nil, h(ctx)
			}}
		},
	} {
		for kind, end := range map[acpterm.Kind]func(*acpterm.Manager) error{
			acpterm.ErrClosing:         (*acpterm.Manager).Close,
			acpterm.ErrSessionNotFound: func(m *acpterm.Manager) error { return m.CloseSession(t.Context(), "s") },
		} {
			hangs := make(chan struct{})
			m := newPlaceManager(t, acpterm.Options{Runner: runner(func(ctx context.Context) error {
				close(hangs)
				<-ctx.Done()
				return context.Cause(ctx)
			})})
			require.NoError(t, m.OpenSession("s", nil))
			failed := make(chan error)
			go func() {
				_, err := m.Create(context.Background(), hosttest.CommandRequest("x"), nil)
				failed <- err
			}()
			<-hangs
			ended := make(chan error)
			go func() { ended <- end(m) }()
			err := <-failed
			require.ErrorIs(t, err, kind, name)
			require.Equal(t, kind, err.(*acpterm.Error).Kind, name)
			require.NoError(t, <-ended)
		}
	}
}
