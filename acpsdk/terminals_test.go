package acpsdk_test

// What the agent sees of its terminals, and what is left when it is gone.

import (
	"context"
	"strings"
	"testing"
	"time"

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
	for range 2 { // the second time is no error
		_, err := c.ReleaseTerminal(t.Context(), acp.ReleaseTerminalRequest{SessionId: "s", TerminalId: id})
		require.NoError(t, err)
	}
	_, err := c.TerminalOutput(t.Context(), acp.TerminalOutputRequest{SessionId: "s", TerminalId: id})
	require.Equal(t, acpterm.ErrTerminalNotFound, requireError(t, err, acpterm.CodeResourceNotFound).Kind)

	id, _ = c.create(request("exit", "3"))
	require.Equal(t, new(3), c.wait(id).ExitCode)
}

func TestLimit(t *testing.T) {
	c := converse(t, settings{})
	req := request("print", "aé✓")
	req.OutputByteLimit = new(4)
	id, _ := c.create(req)
	c.wait(id)
	out := c.output(id)
	require.Equal(t, "✓", out.Output)
	require.True(t, out.Truncated)
}

func TestKillEndsAWaitThatHeldUpNothing(t *testing.T) {
	c := converse(t, settings{})
	id, term := c.create(request("sleep"))
	awaitOutput(t, term)
	ended := c.beginWait(t.Context(), id)
	other, _ := c.create(request("exit", "0"))
	c.wait(other)
	require.Equal(t, "ready", strings.TrimSpace(c.output(id).Output))
	require.Empty(t, ended)
	require.Equal(t, acpterm.StateRunning, term.State()) // though the context of the request that created it has ended
	_, err := c.KillTerminal(t.Context(), acp.KillTerminalRequest{SessionId: "s", TerminalId: id})
	require.NoError(t, err)
	status := <-ended
	require.NoError(t, status.err)
	require.Equal(t, endedBy(acpterm.EndedByKill), status.Meta)
	require.Equal(t, status.WaitForTerminalExitResponse, c.wait(id))
	require.Equal(t, "ready", strings.TrimSpace(c.output(id).Output))
}

func TestCancelledWaitLeavesTheCommand(t *testing.T) {
	c := converse(t, settings{})
	id, term := c.create(request("sleep"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := c.beginWait(ctx, id)
	cancel()
	requireError(t, (<-ended).err, acpterm.CodeRequestCancelled) // which is the SDK's own
	require.Equal(t, acpterm.ErrCancelled, requireError(t, <-c.client.failed, acpterm.CodeRequestCancelled).Kind)
	require.Equal(t, acpterm.StateRunning, term.State())
}

func TestCancelledCreateLeavesNothing(t *testing.T) {
	t.Run("before the command runs", func(t *testing.T) {
		asked := make(chan struct{})
		c := converse(t, settings{manager: acpterm.Options{
			Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
				return acpterm.Decision{Verdict: acpterm.Ask}
			}),
			Approve: func(ctx context.Context, _ acpterm.Question) acpterm.Answer {
				close(asked)
				<-ctx.Done()
				return acpterm.Answer{Approval: acpterm.Once}
			},
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		_, err := c.CreateTerminal(ctx, request("sleep"))
		requireError(t, err, acpterm.CodeRequestCancelled)
		require.Equal(t, acpterm.ErrCancelled, requireError(t, <-c.client.failed, acpterm.CodeRequestCancelled).Kind)
		require.Empty(t, c.manager.Terminals())
	})
	t.Run("when it runs", func(t *testing.T) {
		created, cancelled := make(chan *acpterm.Terminal, 1), make(chan struct{})
		c := converse(t, settings{terminals: &acpsdk.Options{Created: func(term *acpterm.Terminal) {
			created <- term
			<-cancelled
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		var term *acpterm.Terminal
		go func() {
			term = <-created
			cancel()
			<-(<-c.client.began).Done()
			close(cancelled)
		}()
		_, err := c.CreateTerminal(ctx, request("sleep"))
		requireError(t, err, acpterm.CodeRequestCancelled)
		require.Equal(t, acpterm.ErrCancelled, requireError(t, <-c.client.failed, acpterm.CodeRequestCancelled).Kind)
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
	<-c.ended // with it the wait, not the command
	require.Equal(t, acpterm.ErrCancelled, requireError(t, <-c.client.failed, acpterm.CodeRequestCancelled).Kind)
	require.Equal(t, acpterm.StateRunning, term.State())

	require.NoError(t, c.client.CloseTerminals())
	require.Empty(t, c.manager.Terminals())
	require.Equal(t, acpterm.EndedByRelease, term.EndedBy())
	_, err := c.client.CreateTerminal(t.Context(), request("sleep"))
	require.Equal(t, acpterm.ErrClosing, requireError(t, err, acpterm.CodeRequestCancelled).Kind)
	require.NoError(t, c.client.CloseTerminals())
}

// A create that is under way when its client closes is ended and waited for.
func TestCloseWaitsForCreates(t *testing.T) {
	asked, closed := make(chan struct{}), make(chan error, 1)
	var early bool
	c := converse(t, settings{manager: acpterm.Options{
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.Ask}
		}),
		Approve: func(ctx context.Context, _ acpterm.Question) acpterm.Answer {
			close(asked)
			<-ctx.Done()
			for deadline := time.Now().Add(50 * time.Millisecond); !early && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				early = len(closed) > 0
			}
			return acpterm.Answer{Approval: acpterm.Once}
		},
	}})
	created := make(chan error, 1)
	go func() {
		_, err := c.CreateTerminal(t.Context(), request("sleep"))
		created <- err
	}()
	<-asked
	closed <- c.client.CloseTerminals()
	require.NoError(t, <-closed)
	require.Equal(t, acpterm.ErrClosing, requireError(t, <-created, acpterm.CodeRequestCancelled).Kind)
	require.False(t, early)
	require.Empty(t, c.manager.Terminals())
}

func TestCapability(t *testing.T) {
	for name, none := range map[string]bool{"terminals": false, "no terminals": true} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, !none, converse(t, settings{none: none}).told.Terminal)
		})
	}
	require.False(t, new(acpsdk.Terminals).TerminalCapability())
	require.NoError(t, new(acpsdk.Terminals).CloseTerminals())
}
