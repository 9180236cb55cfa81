package mcpserver

// The start of a command, which may wait for the user's answer. From MCP 2026-07-28 on, the server cannot ask while it
// serves a call: the call returns with the question, and the client repeats it with the answer.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

const (
	// asksByResult is the first version of MCP with questions in results.
	asksByResult = "2026-07-28"
	// questionLimit is how long a question waits for an answer.
	questionLimit = 10 * time.Minute
	// questionName is the key of the question in a result.
	questionName = "approval"
)

// creation is a call of Manager.Create. It goes on when the call of the tool has returned with its question.
type creation struct {
	input     runInput
	cancel    context.CancelFunc
	questions chan *mcp.ElicitParams
	answers   chan *mcp.ElicitResult
	done      chan struct{} // closed when terminal and err are set
	terminal  *acpterm.Terminal
	err       error
}

// create returns the terminal for a call of run, or else the result of the call, with a question.
func (c *session) create(
	ctx context.Context, req *mcp.CallToolRequest, in runInput,
) (*acpterm.Terminal, *mcp.CallToolResult, error) {
	n, err := c.resume(ctx, req, in)
	if err != nil {
		return nil, nil, err
	}
	if n == nil {
		if !c.beginCreate() {
			return nil, nil, closing("create")
		}
		n = c.begin(ctx, req, in)
	}
	select {
	case <-n.done:
	case q := <-n.questions:
		result, err := c.suspend(n, q)
		return nil, result, err
	case <-ctx.Done():
		n.cancel()
		<-n.done
	}
	return n.terminal, nil, n.err
}

// begin begins to create a terminal, after beginCreate. The context has the values of the call's, but does not end with it.
func (c *session) begin(call context.Context, req *mcp.CallToolRequest, in runInput) *creation {
	n := &creation{
		input: in, questions: make(chan *mcp.ElicitParams), answers: make(chan *mcp.ElicitResult),
		done: make(chan struct{}),
	}
	ctx, cancel := c.within(context.WithoutCancel(call))
	n.cancel = cancel
	asker := client{name: "an MCP client", question: n.ask(req.Session)}
	if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil && p.ClientInfo.Name != "" {
		asker.name = shorten(p.ClientInfo.Name, 64)
	}
	ctx = context.WithValue(ctx, clientKey{}, asker)
	request, options := c.request(req, in), c.commandOptions(in)
	if options != nil {
		ctx = context.WithValue(ctx, inputKey{}, true)
	}
	go func() {
		defer c.creates.Done()
		defer cancel()
		defer close(n.done)
		if c.closedByHost() {
			n.err = closing("create")
			return
		}
		n.terminal, n.err = c.manager.Create(ctx, request, options)
		if n.err == nil {
			c.created(n.terminal, options != nil)
			n.err = c.announce(n.terminal)
		}
	}()
	return n
}

// closedByHost reports whether the host has called Manager.CloseSession, and commands would run without the session's
// options. In that case, it opens a session that denies all commands, which close closes.
func (c *session) closedByHost() bool {
	deny := acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
		return acpterm.Decision{Verdict: acpterm.VerdictDeny, Reason: "the session has ended"}
	})
	return c.manager.OpenSession(c.id, &acpterm.SessionOptions{Policy: deny}) == nil
}

// announce calls Options.Created, and releases the terminal if that panics.
func (c *session) announce(t *acpterm.Terminal) error {
	if c.options.Created == nil {
		return nil
	}
	err := callHost("Created", func() { c.options.Created(t) })
	if err == nil {
		return nil
	}
	err = &acpterm.Error{Op: "create", Kind: acpterm.ErrInternal, Err: err}
	return errors.Join(err, c.manager.Release(context.Background(), c.id, t.ID()))
}

var errNoAnswer = errors.New("there was no answer in ten minutes")

// ask returns a function that puts a question to the client of a session.
func (n *creation) ask(ss *mcp.ServerSession) func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(ctx context.Context, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if err := canAsk(ss); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, questionLimit, errNoAnswer)
		defer cancel()
		if p := ss.InitializeParams(); p.ProtocolVersion < asksByResult {
			result, err := ss.Elicit(ctx, q)
			if err != nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return result, err
		}
		select {
		case n.questions <- q:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		select {
		case answer := <-n.answers:
			return answer, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// suspend returns a result with a question, and keeps the creation until the client repeats the call or the question
// expires.
func (c *session) suspend(n *creation, q *mcp.ElicitParams) (*mcp.CallToolResult, error) {
	state := rand.Text()
	c.mu.Lock()
	full := len(c.pending) >= maxQuestions
	if !full {
		c.pending[state] = n
	}
	c.mu.Unlock()
	if full {
		n.cancel()
		<-n.done
		return nil, &acpterm.Error{Op: "create", Kind: acpterm.ErrQuota, Quota: "questions", Limit: maxQuestions}
	}
	go func() {
		<-n.done
		c.mu.Lock()
		delete(c.pending, state)
		c.mu.Unlock()
	}()
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{questionName: q}, RequestState: state}, nil
}

// resume passes the answer in a repeated call to its creation. It returns nil if the call is a new one.
func (c *session) resume(ctx context.Context, req *mcp.CallToolRequest, in runInput) (*creation, error) {
	state := req.Params.RequestState
	if state == "" && len(req.Params.InputResponses) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	n := c.pending[state]
	if n != nil && reflect.DeepEqual(n.input, in) {
		delete(c.pending, state) // only one call can answer
	} else {
		n = nil
	}
	c.mu.Unlock()
	if n == nil {
		return nil, fmt.Errorf("the question about %q is no longer open; call run again without its answer",
			shorten(in.Command, maxLabel))
	}
	answer, _ := req.Params.InputResponses[questionName].(*mcp.ElicitResult)
	select {
	case n.answers <- answer: // nil denies the command
	case <-n.done:
	case <-ctx.Done():
		n.cancel()
	}
	return n, nil
}
