package acpterm_test

// What a manager makes of a Runner's answers. That a good Runner's commands are like real ones is acptermtest's to show.

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// runnerStub is a Runner, and the one process that it starts, with the answers that a test gives it.
type runnerStub struct {
	look   error
	start  func(context.Context) error
	status acpterm.TerminalExitStatus
	wait   error
}

func (s runnerStub) Look(context.Context, acpterm.Command) (string, error) { return "/bin/x", s.look }

func (s runnerStub) Start(ctx context.Context, l acpterm.Launch) (acpterm.Process, error) {
	if s.start != nil {
		return nil, s.start(ctx)
	}
	l.Output.Close()
	return s, nil
}

func (s runnerStub) Wait() (acpterm.TerminalExitStatus, error) { return s.status, s.wait }
func (s runnerStub) Signal(syscall.Signal)                     { panic("a signal for a tree that is gone") }
func (s runnerStub) PID() int                                  { return 7 }

func (s runnerStub) Gone() <-chan struct{} {
	gone := make(chan struct{})
	close(gone)
	return gone
}

func TestRunnersAnswers(t *testing.T) {
	failed := errors.New("the container is gone")
	for _, c := range []struct {
		name   string
		stub   runnerStub
		create error // of the create
		wait   error // of the wait
	}{
		{"not found", runnerStub{look: &acpterm.Error{Kind: acpterm.ErrCommandNotFound, Command: "x"}}, acpterm.ErrCommandNotFound, nil},
		{"no such directory", runnerStub{look: &acpterm.Error{Kind: acpterm.ErrInvalidParams, Field: "cwd"}}, acpterm.ErrInvalidParams, nil},
		{"not started", runnerStub{start: func(context.Context) error { return failed }}, failed, nil},
		{"not started is internal", runnerStub{start: func(context.Context) error { return failed }}, acpterm.ErrInternal, nil},
		{"code", runnerStub{status: acpterm.TerminalExitStatus{ExitCode: new(uint32(3))}}, nil, nil},
		{"signal", runnerStub{status: acpterm.TerminalExitStatus{Signal: new("SIGHUP")}}, nil, nil},
		{"neither", runnerStub{}, nil, acpterm.ErrInternal},
		{"end not seen", runnerStub{wait: failed}, nil, failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newManager(t, &acpterm.Options{Runner: c.stub})
			term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
			require.ErrorIs(t, err, c.create)
			if c.create != nil {
				require.Empty(t, m.Terminals())
				return
			}
			status, err := term.Wait(t.Context())
			require.ErrorIs(t, err, c.wait)
			if c.wait == nil {
				require.Equal(t, c.stub.status.ExitCode, status.ExitCode)
				require.Equal(t, c.stub.status.Signal, status.Signal)
			}
			require.Nil(t, term.Limits())
			require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		})
	}
}

// A create through Dispatch that is under way when the handler is closed is cancelled, and waited for.
func TestCloseWaitsForDispatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := false
		m := acpterm.NewManager(&acpterm.Options{Runner: runnerStub{start: func(ctx context.Context) error {
			<-ctx.Done()
			over = true
			return ctx.Err()
		}}})
		h := acpterm.NewHandler(m, nil)
		create := json.RawMessage(`{"sessionId":"s","command":"x"}`)
		errs := make(chan error, 1)
		go func() {
			_, err := h.Dispatch(t.Context(), acpterm.MethodCreate, create)
			errs <- err
		}()
		synctest.Wait()
		require.NoError(t, h.Close())
		require.True(t, over)
		require.ErrorIs(t, <-errs, acpterm.ErrClosing)
		_, err := h.Dispatch(t.Context(), acpterm.MethodCreate, create)
		require.ErrorIs(t, err, acpterm.ErrClosing)
		require.NoError(t, m.Close())
	})
}

// The terminals of a process inside of another's terminal are listed with the outer first.
func TestTerminalInATerminal(t *testing.T) {
	m := newManager(t, &acpterm.Options{
		Runner: runnerStub{status: acpterm.TerminalExitStatus{ExitCode: new(uint32(0))}},
		Env:    []string{"A=1", "ACPTERM_TERMINAL=term_outer", "B=2"},
	})
	for range 2 { // the options' environment stays as it is
		term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
		require.NoError(t, err)
		require.Contains(t, term.Command().Env, "ACPTERM_TERMINAL=term_outer:"+string(term.ID()))
	}
}

// From the first moment of a release the id is unknown, however long the tree takes to end.
func TestReleasedIDIsDeadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		m := acpterm.NewManager(&acpterm.Options{Runner: slowToEnd{ended}})
		h := acpterm.NewHandler(m, nil)
		term, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
		require.NoError(t, err)
		released := make(chan error, 1)
		go func() { released <- m.Release(t.Context(), "s", term.ID()) }()
		synctest.Wait()
		require.Empty(t, released, "the tree runs still")
		params := json.RawMessage(`{"sessionId":"s","terminalId":"` + string(term.ID()) + `"}`)
		for _, method := range []string{acpterm.MethodOutput, acpterm.MethodWaitForExit, acpterm.MethodKill} {
			_, err := h.Dispatch(t.Context(), method, params)
			require.ErrorIs(t, err, acpterm.ErrTerminalNotFound, method)
		}
		_, err = m.Terminal("s", term.ID())
		require.ErrorIs(t, err, acpterm.ErrTerminalNotFound)
		require.Empty(t, m.Terminals())
		_, err = h.Dispatch(t.Context(), acpterm.MethodRelease, params)
		require.NoError(t, err, "a second release is no error")
		close(ended)
		require.NoError(t, <-released)
		require.NoError(t, m.Close())
	})
}

// slowToEnd is a Runner, and its process, which ends when the test says so.
type slowToEnd struct{ ended chan struct{} }

func (s slowToEnd) Look(context.Context, acpterm.Command) (string, error) { return "/bin/x", nil }

func (s slowToEnd) Start(_ context.Context, l acpterm.Launch) (acpterm.Process, error) { return s, nil }

func (s slowToEnd) Wait() (acpterm.TerminalExitStatus, error) {
	<-s.ended
	return acpterm.TerminalExitStatus{Signal: new("SIGTERM")}, nil
}

func (s slowToEnd) Signal(syscall.Signal) {}
func (s slowToEnd) PID() int              { return 7 }
func (s slowToEnd) Gone() <-chan struct{} { return s.ended }
