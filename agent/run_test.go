package agent_test

// Run against clients that are slow, fail or vanish, at each of its steps.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

var request = acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"}

// The whole recipe, and parts of it, as the requests that a client sees.
const (
	timedOut  = "create wait_for_exit kill output release"
	completed = "create wait_for_exit output release"
)

// requests is what a client has seen, in the words of the constants.
func (s *scripted) requests() string {
	return strings.ReplaceAll(strings.Join(s.methods(), " "), "terminal/", "")
}

func TestRunWithEachClient(t *testing.T) {
	const (
		timeout = time.Minute
		patient = 10 * time.Minute // the caller
		grace   = 10 * time.Second
	)
	tests := []struct {
		step    string
		does    behaviour
		ends    bool
		outcome agent.Outcome
		output  bool
		takes   time.Duration
		sees    string
		err     error
		cancels int // at least
	}{
		// The command runs for ever.
		{"create", prompt, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"create", slow, false, agent.TimedOut, true, slowness + timeout, timedOut, nil, 0},
		{"create", fails, false, "", false, 0, "create", acpterm.ErrInternal, 0},
		{"create", nonsense, false, "", false, 0, "create", agent.ErrBadResponse, 0},
		{"create", silent, false, "", false, patient, "create", context.DeadlineExceeded, 1},
		{"create", deaf, false, "", false, patient, "create", context.DeadlineExceeded, 0},
		{"create", vanishes, false, "", false, 0, "create", jsonrpc2.ErrClosed, 0},

		{"wait_for_exit", slow, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"wait_for_exit", fails, false, "", false, 0, "create wait_for_exit release", acpterm.ErrInternal, 0},
		{"wait_for_exit", notFound, false, "", false, 0, "create wait_for_exit release", acpterm.ErrTerminalNotFound, 0},
		{"wait_for_exit", nonsense, false, "", false, 0, "create wait_for_exit release", agent.ErrBadResponse, 0},
		{"wait_for_exit", silent, false, agent.TimedOut, true, timeout + grace, timedOut, nil, 1},
		{"wait_for_exit", deaf, false, agent.TimedOut, false, timeout + 3*grace, "create wait_for_exit", context.DeadlineExceeded, 0},
		{"wait_for_exit", vanishes, false, "", false, 0, "create wait_for_exit", jsonrpc2.ErrClosed, 0},

		{"kill", slow, false, agent.TimedOut, true, timeout + slowness, timedOut, nil, 0},
		{"kill", fails, false, agent.TimedOut, true, timeout, timedOut, acpterm.ErrInternal, 0},
		{"kill", notFound, false, agent.TimedOut, true, timeout, timedOut, acpterm.ErrTerminalNotFound, 0},
		{"kill", nonsense, false, agent.TimedOut, true, timeout + grace, timedOut, nil, 0},
		{"kill", silent, false, agent.TimedOut, true, timeout + grace, timedOut, context.DeadlineExceeded, 1},
		{"kill", deaf, false, agent.TimedOut, false, timeout + 3*grace, "create wait_for_exit kill", context.DeadlineExceeded, 0},
		{"kill", vanishes, false, agent.TimedOut, false, timeout, "create wait_for_exit kill", jsonrpc2.ErrClosed, 0},

		{"output", slow, false, agent.TimedOut, true, timeout + slowness, timedOut, nil, 0},
		{"output", fails, false, agent.TimedOut, false, timeout, timedOut, acpterm.ErrInternal, 0},
		{"output", notFound, false, agent.TimedOut, false, timeout, timedOut, acpterm.ErrTerminalNotFound, 0},
		{"output", nonsense, false, agent.TimedOut, false, timeout, timedOut, agent.ErrBadResponse, 0},
		{"output", silent, false, agent.TimedOut, false, timeout + grace, timedOut, context.DeadlineExceeded, 1},
		{"output", deaf, false, agent.TimedOut, false, timeout + 2*grace, "create wait_for_exit kill output", context.DeadlineExceeded, 0},
		{"output", vanishes, false, agent.TimedOut, false, timeout, "create wait_for_exit kill output", jsonrpc2.ErrClosed, 0},

		{"release", slow, false, agent.TimedOut, true, timeout + slowness, timedOut, nil, 0},
		{"release", fails, false, agent.TimedOut, true, timeout, timedOut, acpterm.ErrInternal, 0},
		{"release", notFound, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"release", nonsense, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"release", silent, false, agent.TimedOut, true, timeout + grace, timedOut, context.DeadlineExceeded, 0},
		{"release", deaf, false, agent.TimedOut, true, timeout + grace, timedOut, context.DeadlineExceeded, 0},
		{"release", vanishes, false, agent.TimedOut, true, timeout, timedOut, jsonrpc2.ErrClosed, 0},

		// The command ends.
		{"create", prompt, true, agent.Completed, true, 0, completed, nil, 0},
		{"create", slow, true, agent.Completed, true, slowness, completed, nil, 0},
		{"wait_for_exit", slow, true, agent.Completed, true, slowness, completed, nil, 0},
		{"output", slow, true, agent.Completed, true, slowness, completed, nil, 0},
		{"output", fails, true, agent.Completed, false, 0, completed, acpterm.ErrInternal, 0},
		{"output", nonsense, true, agent.Completed, false, 0, completed, agent.ErrBadResponse, 0},
		{"output", silent, true, agent.Completed, false, grace, completed, context.DeadlineExceeded, 1},
		{"output", deaf, true, agent.Completed, false, 2 * grace, "create wait_for_exit output", context.DeadlineExceeded, 0},
		{"output", vanishes, true, agent.Completed, false, 0, "create wait_for_exit output", jsonrpc2.ErrClosed, 0},
		{"release", slow, true, agent.Completed, true, slowness, completed, nil, 0},
		{"release", fails, true, agent.Completed, true, 0, completed, acpterm.ErrInternal, 0},
		{"release", silent, true, agent.Completed, true, grace, completed, context.DeadlineExceeded, 0},
		{"release", deaf, true, agent.Completed, true, grace, completed, context.DeadlineExceeded, 0},
		{"release", vanishes, true, agent.Completed, true, 0, completed, jsonrpc2.ErrClosed, 0},
	}
	names := []string{"prompt", "slow", "fails", "notFound", "nonsense", "silent", "deaf", "vanishes"}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%s/ends=%t", tt.step, names[tt.does], tt.ends), func(t *testing.T) {
			s := &scripted{ends: tt.ends, behaves: map[string]behaviour{"terminal/" + tt.step: tt.does}}
			with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
				ctx, cancel := context.WithTimeout(t.Context(), patient)
				defer cancel()
				begin := time.Now()
				result, err := c.Run(ctx, request, agent.RunOptions{Timeout: timeout})
				require.Equal(t, tt.takes, time.Since(begin))
				require.ErrorIs(t, err, tt.err)
				require.Equal(t, tt.outcome, result.Outcome)
				if tt.output {
					require.Equal(t, "out", result.Output)
					require.True(t, result.Truncated)
				} else {
					require.Empty(t, result.Output)
				}
				if tt.outcome == agent.Completed {
					require.Equal(t, "exit code 3", result.ExitStatus.String())
				}
				synctest.Wait()
				require.Equal(t, tt.sees, s.requests())
				// The answer to a wait may cross its cancellation.
				require.GreaterOrEqual(t, s.cancels(), tt.cancels)
			})
		})
	}
}

// A command that was killed has the status that the wait was answered with, if the output does not tell.
func TestRunLearnsHowAKilledCommandEnded(t *testing.T) {
	with(t, &scripted{behaves: map[string]behaviour{acpterm.MethodOutput: slow}},
		func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
			result, err := c.Run(t.Context(), request, agent.RunOptions{Timeout: time.Second})
			require.NoError(t, err)
			require.Equal(t, "signal SIGKILL", result.ExitStatus.String())
		})
}

// The caller gives up at each step: the terminal is released all the same, also one that comes late.
func TestRunReleasesWhenItsContextEnds(t *testing.T) {
	for _, tt := range []struct{ step, sees string }{
		{acpterm.MethodCreate, "create release"},
		{acpterm.MethodWaitForExit, "create wait_for_exit release"},
		{acpterm.MethodKill, "create wait_for_exit kill release"},
		{acpterm.MethodOutput, timedOut},
		{acpterm.MethodRelease, timedOut},
	} {
		t.Run(tt.step, func(t *testing.T) {
			errStop := errors.New("the user has seen enough")
			ctx, stop := context.WithCancelCause(context.Background())
			s := &scripted{behaves: map[string]behaviour{tt.step: slow}}
			s.on = func(method string) {
				if method == tt.step {
					stop(errStop)
				}
			}
			with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
				_, err := c.Run(ctx, request, agent.RunOptions{Timeout: time.Minute})
				if tt.step == acpterm.MethodRelease {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, errStop)
					require.ErrorIs(t, err, acpterm.ErrCancelled)
				}
				time.Sleep(slowness)
				synctest.Wait()
				require.Equal(t, tt.sees, s.requests())
			})
		})
	}
}

func TestRunReleasesWhenTheCallbackPanics(t *testing.T) {
	s := &scripted{}
	with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
		require.PanicsWithValue(t, "oh", func() {
			c.Run(t.Context(), request, agent.RunOptions{Created: func(*agent.Terminal) {
				synctest.Wait()
				panic("oh")
			}})
		})
		require.Equal(t, "create wait_for_exit release", s.requests())
	})
}

// The time begins with the create's answer, also if the callback takes its part of it.
func TestRunCountsTheCallback(t *testing.T) {
	with(t, &scripted{}, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
		begin := time.Now()
		result, err := c.Run(t.Context(), request, agent.RunOptions{
			Timeout: time.Minute,
			Created: func(*agent.Terminal) { time.Sleep(40 * time.Second) },
		})
		require.NoError(t, err)
		require.Equal(t, agent.TimedOut, result.Outcome)
		require.Equal(t, time.Minute, time.Since(begin))
	})
}

// A callback that takes longer than the command may does not make it one that timed out.
func TestRunWithACallbackThatTakesLong(t *testing.T) {
	for _, ends := range []bool{true, false} {
		s := &scripted{ends: ends, behaves: map[string]behaviour{acpterm.MethodWaitForExit: slow}}
		with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
			result, err := c.Run(t.Context(), request, agent.RunOptions{
				Timeout: time.Minute,
				Created: func(*agent.Terminal) { time.Sleep(time.Hour) },
			})
			require.NoError(t, err)
			require.Equal(t, map[bool]agent.Outcome{true: agent.Completed, false: agent.TimedOut}[ends], result.Outcome)
			require.Equal(t, map[bool]string{true: completed, false: timedOut}[ends], s.requests())
		})
	}
}
