package agent

// A command from beginning to end, with ACP's recipe for a timeout
// (https://agentclientprotocol.com/protocol/v1/terminals).

import (
	"context"
	"time"

	"github.com/acpterm/acpterm"
)

// RunOptions say how Run runs a command. The zero value is good.
type RunOptions struct {
	// Timeout is how long the command may run, from the client's answer to the create on. 0: until ctx ends.
	Timeout time.Duration
	// Created is called with the terminal when it is there: the place from which to show it in a tool call, with
	// Terminal.Content. The command runs at the same time, and so does its timeout, but Run continues, and kills what
	// still runs, only when Created has returned. Nil: nothing is called.
	Created func(*Terminal)
}

// Outcome is what became of a command.
type Outcome string

// The outcomes. The empty one is a Run that failed before it came to one.
const (
	// Completed is a command that ended within its time, well or not: Result.ExitStatus says how.
	Completed Outcome = "completed"
	// TimedOut is a command that had not ended after RunOptions.Timeout, and was killed. If it ended right
	// before the kill, its ExitStatus says how.
	TimedOut Outcome = "timed out"
)

// Result is what Run found out.
type Result struct {
	Outcome Outcome
	// Output is the final output, as far as the terminal's limit allows; Truncated says that it is not all.
	Output    string
	Truncated bool
	// ExitStatus is how the command ended; nil if the client did not say.
	ExitStatus *acpterm.TerminalExitStatus
	// TerminalID is the terminal that there was; empty if none was created.
	TerminalID acpterm.TerminalID
}

// Run runs a command: it creates a terminal, waits for the command to end or its time to expire, kills it if its time
// expired, asks for the final output and releases the terminal. Its requests are sent in this order, each when those
// before it are answered, but for the wait: the kill ends that, and its answer too comes before the output is asked
// for.
//
// Once there is a terminal it is released, whatever happens: if the client answers something with an error or too late
// (see WithGrace), if ctx ends, or if RunOptions.Created panics. When ctx ends, nothing else is done any more.
//
// If the error is not nil, the result has what was found out nevertheless: a command whose time expired is TimedOut
// even if the client then failed to kill it. The error holds those of all the steps that failed.
func (c *Client) Run(
	ctx context.Context, request acpterm.CreateTerminalRequest, options RunOptions,
) (result Result, err error) {
	err = c.Use(ctx, request, func(t *Terminal) error {
		result.TerminalID = t.id
		var expired <-chan time.Time
		if options.Timeout > 0 {
			expired = time.After(options.Timeout)
		}
		w := t.beginWait(ctx)
		defer w.cancel(nil) // before the release
		if options.Created != nil {
			options.Created(t)
		}
		return result.finish(ctx, t, w, expired)
	})
	return result, err
}

// finish is what happens from the wait to the final output.
func (r *Result) finish(ctx context.Context, t *Terminal, w *exitWait, expired <-chan time.Time) (err error) {
	select {
	case <-w.answered:
	case <-expired:
	case <-ctx.Done():
	}
	// A command that has ended is Completed, even if the callback took longer than the timeout.
	if !w.isAnswered() && ctx.Err() != nil {
		w.cancel(context.Cause(ctx))
	}
	if w.isAnswered() {
		if w.err != nil {
			return w.err
		}
		r.Outcome = Completed
	} else {
		r.Outcome = TimedOut
		err = t.client.step(ctx, func(ctx context.Context) error {
			if err := t.Kill(ctx); err != nil {
				return err
			}
			select {
			case <-w.answered:
			case <-ctx.Done():
			}
			return nil
		})
	}
	err = joinErrors(err, t.client.step(ctx, func(ctx context.Context) error {
		out, err := t.Output(ctx)
		r.Output, r.Truncated, r.ExitStatus = out.Output, out.Truncated, out.ExitStatus
		return err
	}))
	if w.isAnswered() && w.err == nil && (r.Outcome == Completed || r.ExitStatus == nil) {
		r.ExitStatus = &w.status
	}
	return err
}

// exitWait is a terminal/wait_for_exit that goes on while other requests are made.
type exitWait struct {
	cancelRequest context.CancelCauseFunc
	answered      chan struct{}              // closed when it is answered or cancelled
	status        acpterm.TerminalExitStatus // once answered
	err           error                      // likewise
}

// beginWait sends a wait. ctx does not end it; the caller has to.
func (t *Terminal) beginWait(ctx context.Context) *exitWait {
	r := t.sendWait(ctx)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w := &exitWait{cancelRequest: cancel, answered: make(chan struct{})}
	go func() {
		defer close(w.answered)
		w.status, w.err = t.readWait(r.answer(ctx))
	}()
	return w
}

// cancel cancels the request, if it is not answered, and returns when the cancellation is queued.
func (w *exitWait) cancel(cause error) {
	w.cancelRequest(cause)
	<-w.answered
}

func (w *exitWait) isAnswered() bool {
	select {
	case <-w.answered:
		return true
	default:
		return false
	}
}

// step makes a request that the client has the grace to answer.
func (c *Client) step(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := c.withGrace(ctx)
	defer cancel()
	return request(ctx)
}
