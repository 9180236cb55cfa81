package agent

// A command with a timeout, as https://agentclientprotocol.com/protocol/v1/terminals recommends.

import (
	"context"
	"time"

	"github.com/acpterm/acpterm"
)

// RunOptions say how Run runs a command. The zero value is good.
type RunOptions struct {
	// Timeout is how long the command may run, from the client's answer to the create on. 0: until ctx ends.
	Timeout time.Duration
	// Created is called with the new terminal, to show it in a tool call with Terminal.Content. The command and its
	// timeout run concurrently, but Run continues, and kills a command that still runs, only after Created has
	// returned. Nil: nothing is called.
	Created func(*Terminal)
}

// Outcome says whether a command ended before its timeout.
type Outcome string

// The outcomes. The empty one is a Run that failed before either.
const (
	// Completed is a command that ended before its timeout, successfully or not: Result.ExitStatus says how.
	Completed Outcome = "completed"
	// TimedOut is a command that had not ended after RunOptions.Timeout, and was killed. If it ended right
	// before the kill, its ExitStatus says how.
	TimedOut Outcome = "timed out"
)

// Result is the result of Run.
type Result struct {
	Outcome Outcome
	// Output is the end of the output, up to the terminal's limit; Truncated says that its beginning is missing.
	Output    string
	Truncated bool
	// Head is the beginning of the output, if the request asked for it (AskForHead) and
	// the client has it; else nil.
	Head *Head
	// ExitStatus is how the command ended; nil if the client did not say.
	ExitStatus *acpterm.TerminalExitStatus
	// TerminalID is the id of the terminal, which is released; empty if none was created.
	TerminalID acpterm.TerminalID
}

// Run creates a terminal, waits for the command to end, kills it after its timeout, reads the final output and releases
// the terminal. It sends each request after the answers to those before it; a kill is sent while the wait is pending,
// and the output is read after the answers to both.
//
// A terminal that was created is always released: also if the client answers a request with an error or too late (see
// ClientOptions.Grace), if ctx ends, or if RunOptions.Created panics. After the end of ctx only the release is sent.
//
// With an error the result still has what is known: a command whose timeout expired is TimedOut even if the client then
// failed to kill it. The error joins those of all requests that failed.
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

// finish waits for the command, kills it if that expires, and reads the final output.
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
		err = t.client.withGrace(ctx, func(ctx context.Context) error {
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
	err = joinErrors(err, t.client.withGrace(ctx, func(ctx context.Context) error {
		out, err := t.Output(ctx)
		r.Output, r.Truncated, r.Head, r.ExitStatus = out.Output, out.Truncated, ReadHead(out), out.ExitStatus
		return err
	}))
	if w.isAnswered() && w.err == nil && (r.Outcome == Completed || r.ExitStatus == nil) {
		r.ExitStatus = &w.status
	}
	return err
}

// exitWait is a pending terminal/wait_for_exit.
type exitWait struct {
	cancelRequest context.CancelCauseFunc
	answered      chan struct{}              // closed when it is answered or cancelled
	status        acpterm.TerminalExitStatus // valid once answered is closed
	err           error                      // likewise
}

// beginWait sends a wait. Its caller has to cancel it; the end of ctx does not.
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
