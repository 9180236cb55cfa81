package agent

// Commands with a timeout, run as https://agentclientprotocol.com/protocol/v1/terminals recommends.

import (
	"context"
	"time"

	"github.com/acpterm/acpterm"
)

// RunOptions specifies optional settings for Client.Run. The zero value is ready to use.
type RunOptions struct {
	// Timeout is the maximum amount of time that the command may run after the client has responded to terminal/create.
	// If zero, the command may run until ctx is done.
	Timeout time.Duration
	// Created, if non-nil, is called with the new terminal, typically so that the terminal can be shown in a tool call
	// (see Terminal.Content). When Created is called, the command has already been started and its timeout is running.
	// Note, however, that Run does not do anything until Created returns. In particular, a command whose timeout has
	// expired will not be killed until then.
	Created func(*Terminal)
}

// Outcome indicates whether a command exited before its timeout expired.
type Outcome string

// The possible outcomes. If Run fails before the command has exited or timed out, the Outcome is empty.
const (
	// Completed indicates that the command exited before its timeout expired. To determine whether the command
	// succeeded, see Result.ExitStatus.
	Completed Outcome = "completed"
	// TimedOut indicates that the command was killed because it was still running after RunOptions.Timeout. If the
	// command happened to exit on its own just before it would have been killed, ExitStatus is the command's own exit
	// status.
	TimedOut Outcome = "timed out"
)

// Result is the result of Client.Run.
type Result struct {
	Outcome Outcome
	// Output is the last part of the output, up to the terminal's limit. Truncated reports whether the beginning of the
	// output is missing.
	Output    string
	Truncated bool
	// Head is the beginning of the output, if it was requested using AskForHead. If the client does not support this
	// extension, or if the command was run by the agent itself, Head is nil.
	Head *Head
	// ExitStatus is the exit status of the command, or nil if the client did not report one.
	ExitStatus *acpterm.TerminalExitStatus
	// TerminalID identifies the terminal, which has already been released. It is empty if no terminal was created.
	TerminalID acpterm.TerminalID
}

// Run creates a terminal, waits for the command to exit, reads the final output, and then releases the terminal. If the
// timeout expires before the command exits, Run kills the command. Each request is sent only after the client has
// responded to the previous one, with one exception: the request to kill the command is sent while the request that
// waits for its exit is still pending. In that case, the output is read once the client has responded to both requests.
//
// The terminal is always released, even if the client responds with an error or does not respond in time (see
// ClientOptions.Grace), if ctx is done, or if RunOptions.Created panics. Once ctx is done, the only request that Run
// will send is the one to release the terminal.
//
// If Run fails, the result contains the information available when the failure occurred, and the error joins the errors
// from all of the failed requests. For example, the Outcome is TimedOut even if the client was subsequently unable to
// kill the command.
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

// finish waits for the command, kills it when expired fires, and reads the final output.
func (r *Result) finish(ctx context.Context, t *Terminal, w *exitWait, expired <-chan time.Time) (err error) {
	select {
	case <-w.answered:
	case <-expired:
	case <-ctx.Done():
	}
	// An ended command is Completed, even if the callback took longer than the timeout.
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
	answered      chan struct{}              // closed when the request is answered or cancelled
	status        acpterm.TerminalExitStatus // valid once answered is closed
	err           error                      // valid once answered is closed
}

// beginWait sends a wait. The caller must cancel it; cancelling ctx does not.
func (t *Terminal) beginWait(ctx context.Context) *exitWait {
	r := t.send(ctx, acpterm.MethodWaitForExit)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	w := &exitWait{cancelRequest: cancel, answered: make(chan struct{})}
	go func() {
		defer close(w.answered)
		w.status, w.err = t.readWait(r.answer(ctx))
	}()
	return w
}

// cancel cancels the request, if it has not been answered, and returns when the cancellation is queued.
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
