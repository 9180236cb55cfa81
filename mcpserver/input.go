package mcpserver

// Input: the text and keys of the model for commands on a PTY or with a pipe, and the policy on such commands.

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

const (
	// answerWait is how long write waits for the output that follows, unless the call says otherwise.
	answerWait = 5 * time.Second
	// answerPause is how long the command must be silent for that output to be complete.
	answerPause = 300 * time.Millisecond
)

// inputKey is the context key of a create whose command takes input.
type inputKey struct{}

// inputPolicy decides about commands that take input, and leaves the others to the other policies.
func (o *Options) inputPolicy() acpterm.Policy {
	return acpterm.PolicyFunc(func(ctx context.Context, p acpterm.Proposal) acpterm.Decision {
		switch {
		case ctx.Value(inputKey{}) == nil:
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		case o.Input != nil:
			return o.Input.Decide(ctx, p)
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAsk, Rule: "input", Reason: "the agent types into it while it runs"}
	})
}

// commandOptions returns the options that a call of run asks for, or nil.
func (c *session) commandOptions(in runInput) *acpterm.CommandOptions {
	switch {
	case in.Stdin:
		return &acpterm.CommandOptions{Stdin: new(acpterm.StdinOptions)}
	case !in.PTY:
		return nil
	}
	var pty acpterm.PTYOptions
	if host := c.options.Session; host != nil && host.Commands.PTY != nil {
		pty = *host.Commands.PTY
	}
	pty.Attended = true // by the model
	return &acpterm.CommandOptions{PTY: &pty}
}

func (c *session) write(ctx context.Context, req *mcp.CallToolRequest, in writeInput) (
	*mcp.CallToolResult, commandResult, error,
) {
	t, err := c.terminal(in.ID)
	if err != nil {
		return nil, commandResult{}, err
	}
	writing := c.command(t).writing
	if writing == nil {
		return nil, commandResult{}, errors.New("the command takes no input; run it again with pty or stdin")
	}
	var typed string
	if t.HasPTY() {
		typed, err = keystrokes(in.Text, in.Keys)
	} else {
		typed, in.Close, err = piped(in.Text, in.Keys, in.Close)
	}
	if err == nil && typed == "" && !in.Close {
		err = errors.New("text and keys are both empty; pass one of them")
	}
	if err != nil {
		return nil, commandResult{}, err
	}
	ctx, done := c.within(ctx)
	defer done()
	stop := report(ctx, req, t)
	from, limit := t.OutputTotal(), c.limit(req, in.WaitMS, answerWait)
	if typed != "" {
		err = c.send(ctx, t, writing, typed)
	}
	if err == nil && in.Close {
		err = advice(t.CloseStdin())
	}
	if err == nil {
		err = c.awaitAnswer(ctx, t, from, limit)
	}
	stop()
	if err != nil {
		return nil, commandResult{}, err
	}
	return c.describe(t, readState(t), unseen, 0, showEnds)
}

// sendLimit is the longest time of a write. Only commands that do not read need so much.
const sendLimit = 10 * time.Second

// send writes to a command. A write that takes too long goes on until the command ends.
func (c *session) send(ctx context.Context, t *acpterm.Terminal, writing chan struct{}, typed string) error {
	select {
	case writing <- struct{}{}:
	default:
		return errors.New("the command has not read what was written before; wait, or kill it")
	}
	if !c.beginCreate() {
		<-writing
		return advice(closing("write"))
	}
	sent := make(chan error, 1)
	go func() {
		defer c.creates.Done()
		_, err := t.Write([]byte(typed))
		<-writing
		sent <- err
	}()
	timeout := time.NewTimer(sendLimit)
	defer timeout.Stop()
	select {
	case err := <-sent:
		if errors.Is(err, os.ErrClosed) {
			return errors.New("the command has ended; call output for its result")
		}
		return advice(err)
	case <-timeout.C:
		return errors.New("the command does not read its input; wait, or kill it")
	case <-ctx.Done():
		return advice(c.cancelled(ctx, t))
	}
}

// awaitAnswer waits until a command has answered its input: the command has ended, waits for more, or has written output
// after an offset and is silent and not busy. The wait also ends when the user moves the command to the background, or
// limit has passed. It fails if ctx is done first.
func (c *session) awaitAnswer(ctx context.Context, t *acpterm.Terminal, from int64, limit time.Duration) error {
	following, cancel := context.WithTimeout(ctx, limit)
	arrived := make(chan struct{}, 1)
	var follower sync.WaitGroup
	follower.Go(func() {
		for range t.Follow(following, from) {
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
	})
	defer func() { cancel(); follower.Wait() }()
	answered, paused := false, time.After(answerPause)
	for {
		select {
		case <-arrived:
			answered, paused = true, time.After(answerPause)
			continue
		case <-paused:
			busy, waits := works(following, t)
			if len(arrived) > 0 || !waits && (busy || !answered) {
				paused = time.After(answerPause)
				continue
			}
		case <-t.Done():
		case <-t.Released():
		case <-t.Backgrounded():
		case <-following.Done():
			if ctx.Err() != nil {
				return advice(c.cancelled(ctx, t))
			}
		}
		return nil
	}
}
