package embedtest

// What a Runner need not have: standard input, and lists of processes.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// listless is a Runner whose processes cannot be listed.
type listless struct{ acptermtest.Commands }

func (l listless) Start(ctx context.Context, r acpterm.StartRequest) (acpterm.Process, error) {
	p, err := l.Commands.Start(ctx, r)
	return struct{ acpterm.Process }{p}, err
}

// Options that a Runner cannot provide are refused, and leave nothing running.
func TestARunnerWithoutInputAndLists(t *testing.T) {
	ended := make(chan bool, 1)
	m := hosttest.NewManager(t, &acpterm.Options{Runner: listless{acptermtest.Commands{"x": func(p *acptermtest.Process) int {
		defer func() { ended <- true }()
		return acptermtest.Block(p)
	}}}})
	for field, options := range map[string]acpterm.CommandOptions{
		"CommandOptions.Stdin":       {Stdin: &acpterm.StdinOptions{}},
		"CommandOptions.IdleTimeout": {IdleTimeout: time.Hour},
	} {
		_, err := m.Create(t.Context(), hosttest.CommandRequest("x"), &options)
		hosttest.RequireOptionRefused(t, err, "create", field)
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	require.Len(t, ended, 1, "only the command that may have been idle ran, and has ended")
	require.Empty(t, m.Terminals())
}

// pipeStub is a Runner whose commands run until their standard input is closed, which may panic.
type pipeStub struct {
	runnerStub
	input  strings.Builder
	ended  chan struct{} // closed by Close
	panics bool
	list   func(context.Context) ([]acpterm.ProcessInfo, error)
}

func (s *pipeStub) StartStdin(
	_ context.Context, r acpterm.StartRequest,
) (acpterm.Process, io.WriteCloser, error) {
	r.Output.Close()
	return s, inputStub{s}, nil
}

func (s *pipeStub) Wait() (acpterm.TerminalExitStatus, error) {
	<-s.ended
	return s.runnerStub.Wait()
}

func (s *pipeStub) Processes(ctx context.Context) ([]acpterm.ProcessInfo, error) { return s.list(ctx) }

type inputStub struct{ *pipeStub }

func (s inputStub) Write(p []byte) (int, error) { return s.input.Write(p) }

func (s inputStub) Close() error {
	select {
	case <-s.ended:
	default:
		close(s.ended)
		if s.panics {
			panic("a mistake")
		}
	}
	return os.ErrClosed
}

func TestARunnersInput(t *testing.T) {
	hosttest.CaptureLog(t)
	for _, panics := range []bool{false, true} {
		for _, from := range []io.Reader{nil, strings.NewReader("text")} {
			s := &pipeStub{ended: make(chan struct{}), panics: panics}
			m := hosttest.NewManager(t, &acpterm.Options{Runner: s})
			term := hosttest.Create(t, m, hosttest.CommandRequest("x"), &acpterm.CommandOptions{
				Stdin: &acpterm.StdinOptions{Reader: from},
			})
			if from == nil {
				_, err := io.WriteString(term, "text")
				require.NoError(t, err)
				require.Equal(t, panics, term.CloseStdin() != nil)
			}
			hosttest.AwaitExit(t, term)
			require.Equal(t, "text", s.input.String())
			require.NoError(t, m.Close())
		}
	}
}

// The list and the error of a Runner are those of the terminal. Kinds are kept.
func TestARunnersProcesses(t *testing.T) {
	hosttest.CaptureLog(t)
	one := []acpterm.ProcessInfo{{PID: 7, Command: "x"}}
	lost := &acpterm.Error{Kind: acpterm.ErrConnectionLost}
	for _, c := range []struct {
		list func(context.Context) ([]acpterm.ProcessInfo, error)
		want []acpterm.ProcessInfo
		err  error
	}{
		{func(context.Context) ([]acpterm.ProcessInfo, error) { return one, nil }, one, nil},
		{func(context.Context) ([]acpterm.ProcessInfo, error) { return one, fs.ErrPermission }, one, fs.ErrPermission},
		{func(context.Context) ([]acpterm.ProcessInfo, error) { return nil, lost }, nil, acpterm.ErrConnectionLost},
		{func(context.Context) ([]acpterm.ProcessInfo, error) { panic("a mistake") }, nil, acpterm.ErrInternal},
	} {
		s := &pipeStub{ended: make(chan struct{}), list: c.list}
		m := hosttest.NewManager(t, &acpterm.Options{Runner: s})
		term := hosttest.Create(t, m, hosttest.CommandRequest("x"), &acpterm.CommandOptions{
			Stdin: &acpterm.StdinOptions{}, IdleTimeout: time.Hour,
		})
		list, err := term.Processes(t.Context())
		require.Equal(t, c.want, list)
		require.ErrorIs(t, err, c.err)
		if e, ok := errors.AsType[*acpterm.Error](err); ok {
			require.Equal(t, "processes", e.Op)
			require.Equal(t, term.ID(), e.TerminalID)
		}
		require.NoError(t, term.CloseStdin())
		require.NoError(t, m.Close())
	}
	require.Empty(t, lost.Op, "the Runner's error is not changed")
}

// A list that is not there yet delays neither the end of an observer's context nor that of an idle command.
func TestARunnersSlowLists(t *testing.T) {
	asked, first := make(chan bool, 4), true
	s := &pipeStub{ended: make(chan struct{}), list: func(ctx context.Context) ([]acpterm.ProcessInfo, error) {
		if first {
			first = false
			return nil, nil // the create asks whether there are lists
		}
		asked <- true
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	m := hosttest.NewManager(t, &acpterm.Options{Runner: s})
	term := hosttest.Create(t, m, hosttest.CommandRequest("x"), &acpterm.CommandOptions{
		Stdin: &acpterm.StdinOptions{}, IdleTimeout: time.Hour,
	})
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan int)
	go func() {
		seen := 0
		for range term.Watch(ctx) {
			seen++
		}
		watched <- seen
	}()
	<-asked
	cancel()
	require.Zero(t, <-watched)
	_, err := term.Processes(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.NoError(t, term.CloseStdin())
	require.NoError(t, m.Close()) // waits for all lists
}
