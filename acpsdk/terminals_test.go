package acpsdk_test

// The life of terminals, the cancellation of requests, and the end of the connection.

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acpsdk"
	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"
)

var _ acp.Client = (*client)(nil)

func endedBy(by acpterm.EndedBy) map[string]any {
	return map[string]any{"acpterm": map[string]any{"endedBy": string(by)}}
}

func TestLifeOfATerminal(t *testing.T) {
	c := converse(t, settings{})
	id, _ := c.create(request("print", "hello"))
	status := c.wait(id)
	require.Equal(t, acp.WaitForTerminalExitResponse{ExitCode: new(0), Meta: endedBy(acpterm.EndedByItself)}, status)
	want := acp.TerminalOutputResponse{Output: "hello", ExitStatus: (*acp.TerminalExitStatus)(&status)}
	require.Equal(t, want, c.output(id))
	for range 2 { // the second release is not an error
		_, err := c.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest{SessionId: "s", TerminalId: id})
		require.NoError(t, err)
	}
	_, err := c.TerminalOutput(t.Context(), acp.TerminalOutputRequest{SessionId: "s", TerminalId: id})
	require.Equal(t, acpterm.ErrTerminalNotFound, requireError(t, err, -32002).Kind)

	id, _ = c.create(request("exit", "3"))
	require.Equal(t, new(3), c.wait(id).ExitCode)
}

// The answer to terminal/output has all fields of the SDK's type.
func TestOutputHasEveryField(t *testing.T) {
	c := converse(t, settings{})
	req := request("print", "a long text")
	req.OutputByteLimit = new(4)
	req.Meta = map[string]any{"acpterm": map[string]any{"headBytes": 4}}
	id, _ := c.create(req)
	c.wait(id)
	out := c.output(id)
	for _, field := range reflect.VisibleFields(reflect.TypeOf(out)) {
		require.NotZero(t, reflect.ValueOf(out).FieldByIndex(field.Index).Interface(), field.Name)
	}
}

func TestPendingWaitBlocksNothing(t *testing.T) {
	c := converse(t, settings{})
	id, term := c.create(request("sleep"))
	awaitOutput(t, term)
	ended := c.beginWait(t.Context(), id)
	other, _ := c.create(request("exit", "0"))
	c.wait(other)
	require.Equal(t, "ready", strings.TrimSpace(c.output(id).Output))
	require.Empty(t, ended)
	require.Equal(t, acpterm.StateRunning, term.State()) // although the context of its create has ended
	_, err := c.KillTerminal(t.Context(), acp.KillTerminalRequest{SessionId: "s", TerminalId: id})
	require.NoError(t, err)
	status := <-ended
	require.NoError(t, status.err)
	require.Equal(t, endedBy(acpterm.EndedByKill), status.Meta)
	require.Equal(t, status.WaitForTerminalExitResponse, c.wait(id))
	require.Equal(t, "ready", strings.TrimSpace(c.output(id).Output))
}

// requireCancelled checks that the request failed as cancelled on both sides.
func (c *conversation) requireCancelled(err error) {
	c.t.Helper()
	requireError(c.t, err, -32800)
	require.Equal(c.t, acpterm.ErrCancelled, requireError(c.t, <-c.client.failed, -32800).Kind)
}

func TestCancelledWaitLeavesTheCommand(t *testing.T) {
	c := converse(t, settings{})
	id, term := c.create(request("sleep"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := c.beginWait(ctx, id)
	cancel()
	c.requireCancelled((<-ended).err)
	require.Equal(t, acpterm.StateRunning, term.State())
}

// asking returns settings that make a create call approve before it starts the command.
func asking(approve func(context.Context)) settings {
	return settings{manager: acpterm.Options{
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		}),
		Approve: func(ctx context.Context, _ acpterm.Question) acpterm.Answer {
			approve(ctx)
			return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
		},
	}}
}

func TestCancelledCreateLeavesNothing(t *testing.T) {
	t.Run("before the start", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := converse(t, asking(func(ctx context.Context) {
			cancel()
			<-ctx.Done()
		}))
		_, err := c.CreateTerminal(ctx, request("sleep"))
		c.requireCancelled(err)
		require.Empty(t, c.manager.Terminals())
	})
	t.Run("after the start", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var c *conversation
		var term *acpterm.Terminal
		c = converse(t, settings{terminals: &acpsdk.Options{Created: func(created *acpterm.Terminal) {
			term = created
			cancel()
			<-(<-c.client.began).Done()
		}}})
		_, err := c.CreateTerminal(ctx, request("sleep"))
		c.requireCancelled(err)
		require.Empty(t, c.manager.Terminals())
		require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	})
}

func TestCloseReleasesAll(t *testing.T) {
	c := converse(t, settings{})
	id, term := c.create(request("sleep"))
	awaitOutput(t, term)
	c.beginWait(t.Context(), id)
	c.hangUp()
	<-c.ended // cancels the wait
	require.Equal(t, acpterm.ErrCancelled, requireError(t, <-c.client.failed, -32800).Kind)
	require.Equal(t, acpterm.StateRunning, term.State())

	require.NoError(t, c.client.CloseTerminals(t.Context()))
	require.Empty(t, c.manager.Terminals())
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	_, err := c.client.CreateTerminal(t.Context(), request("sleep"))
	require.Equal(t, acpterm.ErrClosing, requireError(t, err, -32800).Kind)
	require.NoError(t, c.client.CloseTerminals(t.Context()))
}

// A CloseTerminals whose context is done no longer waits, and another one does.
func TestCloseWithinAContext(t *testing.T) {
	asked, free := make(chan struct{}), make(chan struct{})
	c := converse(t, asking(func(context.Context) {
		close(asked)
		<-free
	}))
	answer := sync.OnceFunc(func() { close(free) })
	t.Cleanup(answer)
	created := make(chan error, 1)
	go func() {
		_, err := c.CreateTerminal(t.Context(), request("sleep"))
		created <- err
	}()
	<-asked
	late := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	err := c.client.CloseTerminals(ctx)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.ErrorIs(t, err, late)
	answer()
	require.NoError(t, c.client.CloseTerminals(t.Context()))
	require.Equal(t, acpterm.ErrClosing, requireError(t, <-created, -32800).Kind)
	require.Empty(t, c.manager.Terminals())
}
