package agent_test

// Run with clients that fail at each of its requests.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/agent"
	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/require"
)

// The requests of a Run whose command times out, and of a Run whose command ends.
const (
	timedOut  = "create wait_for_exit kill output release"
	completed = "create wait_for_exit output release"
)

func TestRunWithEachClient(t *testing.T) {
	const (
		timeout = time.Minute
		caller  = 10 * time.Minute // the timeout of Run's context
		grace   = 10 * time.Second
	)
	tests := []struct {
		method    string
		fault     fault
		completes bool
		outcome   agent.Outcome
		output    bool
		takes     time.Duration
		requests  string
		err       error
		cancels   int // the minimum
	}{
		// The command runs until it is killed.
		{"create", none, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"create", slow, false, agent.TimedOut, true, delay + timeout, timedOut, nil, 0},
		{"create", fails, false, "", false, 0, "create", acpterm.ErrInternal, 0},
		{"create", malformed, false, "", false, 0, "create", agent.ErrBadResponse, 0},
		{"create", noReply, false, "", false, caller, "create", context.DeadlineExceeded, 1},
		{"create", stopsReading, false, "", false, caller, "create", context.DeadlineExceeded, 0},
		{"create", disconnects, false, "", false, 0, "create", jsonrpc2.ErrClosed, 0},

		{"wait_for_exit", slow, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"wait_for_exit", fails, false, "", false, 0, "create wait_for_exit release", acpterm.ErrInternal, 0},
		{"wait_for_exit", notFound, false, "", false, 0, "create wait_for_exit release", acpterm.ErrTerminalNotFound, 0},
		{"wait_for_exit", malformed, false, "", false, 0, "create wait_for_exit release", agent.ErrBadResponse, 0},
		{"wait_for_exit", noReply, false, agent.TimedOut, true, timeout + grace, timedOut, nil, 1},
		{"wait_for_exit", stopsReading, false, agent.TimedOut, false, timeout + 3*grace, "create wait_for_exit", context.DeadlineExceeded, 0},
		{"wait_for_exit", disconnects, false, "", false, 0, "create wait_for_exit", jsonrpc2.ErrClosed, 0},

		{"kill", slow, false, agent.TimedOut, true, timeout + delay, timedOut, nil, 0},
		{"kill", fails, false, agent.TimedOut, true, timeout, timedOut, acpterm.ErrInternal, 0},
		{"kill", notFound, false, agent.TimedOut, true, timeout, timedOut, acpterm.ErrTerminalNotFound, 0},
		{"kill", malformed, false, agent.TimedOut, true, timeout + grace, timedOut, nil, 0},
		{"kill", noReply, false, agent.TimedOut, true, timeout + grace, timedOut, context.DeadlineExceeded, 1},
		{"kill", stopsReading, false, agent.TimedOut, false, timeout + 3*grace, "create wait_for_exit kill", context.DeadlineExceeded, 0},
		{"kill", disconnects, false, agent.TimedOut, false, timeout, "create wait_for_exit kill", jsonrpc2.ErrClosed, 0},

		{"output", slow, false, agent.TimedOut, true, timeout + delay, timedOut, nil, 0},
		{"output", fails, false, agent.TimedOut, false, timeout, timedOut, acpterm.ErrInternal, 0},
		{"output", notFound, false, agent.TimedOut, false, timeout, timedOut, acpterm.ErrTerminalNotFound, 0},
		{"output", malformed, false, agent.TimedOut, false, timeout, timedOut, agent.ErrBadResponse, 0},
		{"output", noReply, false, agent.TimedOut, false, timeout + grace, timedOut, context.DeadlineExceeded, 1},
		{"output", stopsReading, false, agent.TimedOut, false, timeout + 2*grace, "create wait_for_exit kill output", context.DeadlineExceeded, 0},
		{"output", disconnects, false, agent.TimedOut, false, timeout, "create wait_for_exit kill output", jsonrpc2.ErrClosed, 0},

		{"release", slow, false, agent.TimedOut, true, timeout + delay, timedOut, nil, 0},
		{"release", fails, false, agent.TimedOut, true, timeout, timedOut, acpterm.ErrInternal, 0},
		{"release", notFound, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"release", malformed, false, agent.TimedOut, true, timeout, timedOut, nil, 0},
		{"release", noReply, false, agent.TimedOut, true, timeout + grace, timedOut, context.DeadlineExceeded, 0},
		{"release", stopsReading, false, agent.TimedOut, true, timeout + grace, timedOut, context.DeadlineExceeded, 0},
		{"release", disconnects, false, agent.TimedOut, true, timeout, timedOut, jsonrpc2.ErrClosed, 0},

		// The command ends immediately.
		{"create", none, true, agent.Completed, true, 0, completed, nil, 0},
		{"wait_for_exit", slow, true, agent.Completed, true, delay, completed, nil, 0},
		{"output", slow, true, agent.Completed, true, delay, completed, nil, 0},
		{"output", fails, true, agent.Completed, false, 0, completed, acpterm.ErrInternal, 0},
		{"output", noReply, true, agent.Completed, false, grace, completed, context.DeadlineExceeded, 1},
		{"output", stopsReading, true, agent.Completed, false, 2 * grace, "create wait_for_exit output", context.DeadlineExceeded, 0},
	}
	statuses := map[agent.Outcome]string{agent.Completed: "exit code 3", agent.TimedOut: "signal SIGKILL"}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%s/completes=%t", tt.method, tt.fault, tt.completes), func(t *testing.T) {
			s := &scripted{completes: tt.completes, faults: map[string]fault{"terminal/" + tt.method: tt.fault}}
			with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
				ctx, cancel := context.WithTimeout(t.Context(), caller)
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
				if tt.outcome == agent.Completed || tt.fault == slow {
					require.Equal(t, statuses[tt.outcome], result.ExitStatus.String(), "the wait's: the output has none")
				}
				require.Equal(t, tt.requests, s.requests())
				// The answer to a wait may cross its cancellation.
				require.GreaterOrEqual(t, s.cancels, tt.cancels)
			})
		})
	}
}

// The terminal is released if the context ends at any request, even if the client creates it later.
func TestRunReleasesWhenItsContextEnds(t *testing.T) {
	for _, tt := range []struct{ method, requests string }{
		{acpterm.MethodCreate, "create release"},
		{acpterm.MethodWaitForExit, "create wait_for_exit release"},
		{acpterm.MethodKill, "create wait_for_exit kill release"},
		{acpterm.MethodOutput, timedOut},
		{acpterm.MethodRelease, timedOut},
	} {
		t.Run(tt.method, func(t *testing.T) {
			errStop := errors.New("stop")
			ctx, stop := context.WithCancelCause(context.Background())
			s := &scripted{faults: map[string]fault{tt.method: slow}}
			s.on = func(method string) {
				if method == tt.method {
					stop(errStop)
				}
			}
			with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
				_, err := c.Run(ctx, request, agent.RunOptions{Timeout: time.Minute})
				if tt.method == acpterm.MethodRelease {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, errStop)
					require.ErrorIs(t, err, acpterm.ErrCancelled)
				}
				time.Sleep(delay)
				require.Equal(t, tt.requests, s.requests())
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

// The timeout begins with the create's answer and includes the callback. A command that ends during the callback is
// Completed.
func TestRunTimesTheCallback(t *testing.T) {
	for _, tt := range []struct {
		callback, takes time.Duration
		completes       bool
		outcome         agent.Outcome
		requests        string
	}{
		{40 * time.Second, time.Minute, false, agent.TimedOut, timedOut},
		{time.Hour, time.Hour, false, agent.TimedOut, timedOut},
		{time.Hour, time.Hour, true, agent.Completed, completed},
	} {
		s := &scripted{completes: tt.completes, faults: map[string]fault{acpterm.MethodWaitForExit: slow}}
		with(t, s, func(t *testing.T, c *agent.Client, _ *jsonrpc2.Conn) {
			begin := time.Now()
			result, err := c.Run(t.Context(), request, agent.RunOptions{
				Timeout: time.Minute,
				Created: func(*agent.Terminal) { time.Sleep(tt.callback) },
			})
			require.NoError(t, err)
			require.Equal(t, tt.outcome, result.Outcome)
			require.Equal(t, tt.takes, time.Since(begin))
			require.Equal(t, tt.requests, s.requests())
		})
	}
}
