package agent

// Terminal: the requests about one terminal, and how a tool call shows it.

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/acpterm/acpterm"
)

// A Terminal represents a terminal of the client. It is safe for concurrent use by multiple goroutines. Methods that
// take a context return early if the context is done. After Release has been called, these methods, except for Release
// itself, return acpterm.ErrTerminalNotFound without sending anything.
type Terminal struct {
	client  *Client
	session acpterm.SessionID
	id      acpterm.TerminalID

	mu         sync.Mutex
	released   chan struct{} // nil before Release; closed after the client's answer
	releaseErr error
}

// ID returns the terminal's ID, as chosen by the client.
func (t *Terminal) ID() acpterm.TerminalID { return t.id }

// SessionID returns the ID of the terminal's session.
func (t *Terminal) SessionID() acpterm.SessionID { return t.session }

// Output uses terminal/output to return the current output. ExitStatus is nil while the command is running.
func (t *Terminal) Output(ctx context.Context) (acpterm.TerminalOutputResponse, error) {
	result, err := t.send(ctx, acpterm.MethodOutput).answer(ctx)
	if err != nil {
		return acpterm.TerminalOutputResponse{}, err
	}
	out, err := readOutput(result)
	if err != nil {
		return acpterm.TerminalOutputResponse{}, t.badResponse(acpterm.MethodOutput, err)
	}
	return out, nil
}

// Wait uses terminal/wait_for_exit to wait for the command to exit. If ctx is done before the command exits, Wait
// cancels the request, but the command continues to run. If the client cannot determine the exit status, the result
// contains neither an exit code nor a signal.
func (t *Terminal) Wait(ctx context.Context) (acpterm.TerminalExitStatus, error) {
	return t.readWait(t.send(ctx, acpterm.MethodWaitForExit).answer(ctx))
}

// Backgrounded reports whether a status returned by Terminal.Wait means that the command is still running, because the
// user wants the agent to go on without waiting. The agent can read the output and wait again later. This is an
// extension of package acpterm, which the Meta of the create request asks for: {"acpterm": {"background": true}}.
func Backgrounded(status acpterm.TerminalExitStatus) bool {
	var read struct {
		State string `json:"state"`
	}
	return json.Unmarshal(status.Meta["acpterm"], &read) == nil && read.State == "background"
}

// readWait reads the answer to a terminal/wait_for_exit.
func (t *Terminal) readWait(result json.RawMessage, err error) (acpterm.TerminalExitStatus, error) {
	if err != nil {
		return acpterm.TerminalExitStatus{}, err
	}
	status, err := readExit(result)
	if err != nil {
		return status, t.badResponse(acpterm.MethodWaitForExit, err)
	}
	return status, nil
}

// Kill uses terminal/kill to terminate the command. The output can still be read after the command has been killed.
func (t *Terminal) Kill(ctx context.Context) error {
	_, err := t.send(ctx, acpterm.MethodKill).answer(ctx)
	return err
}

// Release calls terminal/release to terminate the command and invalidate the terminal's ID. The request is sent only
// once, and it is sent even if ctx is already done, since ctx only limits how long Release waits for the response.
// Subsequent calls wait for the same response and return the same error. It is not an error if the client no longer
// recognizes the terminal.
//
// Note that any other calls still pending for the terminal may fail. To show the terminal in a tool call, add it to the
// tool call before calling Release (see Content).
func (t *Terminal) Release(ctx context.Context) error {
	t.mu.Lock()
	first := t.released == nil
	if first {
		t.released = make(chan struct{})
	}
	t.mu.Unlock()
	k := t.call(acpterm.MethodRelease)
	if first {
		go t.awaitRelease(t.client.send(context.Background(), k))
	}
	select {
	case <-t.released:
		return t.releaseErr
	case <-ctx.Done():
		return k.cancelled(ctx)
	}
}

// awaitRelease receives the response to the release. It returns when the connection closes at the latest.
func (t *Terminal) awaitRelease(r *request) {
	defer close(t.released)
	_, err := r.answer(context.Background())
	if e, ok := err.(*Error); ok && e.Kind == acpterm.ErrTerminalNotFound {
		return
	}
	t.releaseErr = err
}

// send queues a request, unless Release has been called.
func (t *Terminal) send(ctx context.Context, method string) *request {
	t.mu.Lock()
	released := t.released != nil
	t.mu.Unlock()
	if released {
		return &request{refused: &Error{Method: method, TerminalID: t.id, Kind: acpterm.ErrTerminalNotFound}}
	}
	return t.client.send(ctx, t.call(method))
}

func (t *Terminal) call(method string) call {
	return call{
		method: method, terminal: t.id, params: acpterm.TerminalRequest{SessionID: t.session, TerminalID: t.id},
	}
}

func (t *Terminal) badResponse(method string, err error) error {
	return &Error{Method: method, TerminalID: t.id, Kind: ErrBadResponse, Err: err}
}

// Content represents a terminal in the content of a tool call (schema type ToolCallContent with the type "terminal").
// It should be added to the tool call before the terminal is released. The client will then continue to show the output
// even after the release.
type Content struct {
	TerminalID acpterm.TerminalID
	Meta       acpterm.Meta
}

// Content returns a content item that shows the terminal in a tool call.
func (t *Terminal) Content() Content { return Content{TerminalID: t.id} }

// MarshalJSON implements json.Marshaler. It encodes c as {"type":"terminal","terminalId":…}.
func (c Content) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type       string             `json:"type"`
		TerminalID acpterm.TerminalID `json:"terminalId"`
		Meta       acpterm.Meta       `json:"_meta,omitempty"`
	}{"terminal", c.TerminalID, c.Meta})
}
