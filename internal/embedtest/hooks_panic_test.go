package embedtest

// Creates that fail: who made the mistake, the names in the error, and the embedder's functions that panic.

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/terminaltest"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// A panic in one of these fails its request, is logged with its stack, and affects nothing else.
func TestPanicsWhileCreatingFailThatRequest(t *testing.T) {
	panicIfBad := func(c acpterm.Command) {
		if c.Args[len(c.Args)-1] == "bad" {
			panic("secret")
		}
	}
	answerOnce := func(context.Context, acpterm.Question) acpterm.Answer {
		return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
	}
	ask := &terminaltest.Verdict{Decision: acpterm.Decision{Verdict: acpterm.VerdictAsk}}
	for name, options := range map[string]acpterm.Options{
		"Policy": {Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			panicIfBad(p.Command)
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		})},
		"Approve": {Policy: ask, Approve: func(ctx context.Context, q acpterm.Question) acpterm.Answer {
			panicIfBad(q.Command)
			return answerOnce(ctx, q)
		}},
		"CommandsFor": {Policy: ask, Approve: answerOnce, CommandsFor: func(_ acpterm.SessionID, c acpterm.Command) *acpterm.CommandOptions {
			panicIfBad(c)
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			log := hosttest.CaptureLog(t)
			hook, events := hosttest.Record()
			m := hosttest.NewManager(t, &options, hook)
			p := hosttest.ConnectPeer(t, m, nil)

			r := p.Ask(`1`, acpterm.MethodCreate, hosttest.ChildRequest("print", "bad"))
			require.NotNil(t, r.Error)
			require.EqualValues(t, -32603, r.Error.Code)
			require.JSONEq(t, `{"kind":"internal","sessionId":"s","reason":"the host's `+name+` function panicked"}`, string(*r.Error.Data))
			require.NotContains(t, r.Error.Message, "secret")
			require.Empty(t, m.Terminals())

			if name != "CommandsFor" { // it is called before there is a decision
				d := (<-events).(*acpterm.DecisionEvent)
				require.Equal(t, acpterm.VerdictDeny, d.Verdict)
				require.ErrorIs(t, d.Err, acpterm.ErrInternal)
			}
			require.Contains(t, log.String(), name)
			require.Contains(t, log.String(), "secret")
			require.Contains(t, log.String(), "hooks_panic_test.go", "the stack")

			p.Works()
			hosttest.Create(t, m, hosttest.ChildRequest("print", "good"))
		})
	}
}

// wrapFunc is a Sandbox.
type wrapFunc func(acpterm.Command) (acpterm.Wrapped, error)

func (f wrapFunc) Wrap(_ context.Context, p acpterm.Proposal) (acpterm.Wrapped, error) {
	return f(p.Command)
}

// A request does not name the program of a Sandbox. An error of a Sandbox becomes an *Error that wraps it.
func TestCreateWithAWrapperThatFails(t *testing.T) {
	missing, cause := filepath.Join(t.TempDir(), "missing"), errors.New("no sandbox today")
	for name, c := range map[string]struct {
		wrap wrapFunc
		want terminaltest.CreateError
		err  error // wrapped by the create's error
	}{
		"a program that is gone": {func(c acpterm.Command) (acpterm.Wrapped, error) {
			c.Path, c.Args = missing, append([]string{missing}, c.Args...)
			return acpterm.Wrapped{Command: c}, nil
		}, terminaltest.CreateError{Kind: acpterm.ErrInternal, Code: -32603}, acpterm.ErrInternal},
		"an error": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, cause
		}, terminaltest.CreateError{Kind: acpterm.ErrInternal, Command: hosttest.Executable(), Code: -32603}, cause},
		"an error of a kind": {func(acpterm.Command) (acpterm.Wrapped, error) {
			return acpterm.Wrapped{}, &acpterm.Error{Kind: acpterm.ErrDenied}
		}, terminaltest.CreateError{Kind: acpterm.ErrDenied, Code: -32602}, acpterm.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			m := hosttest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Sandbox: c.wrap}})
			require.Equal(t, c.want, terminaltest.FailedCreate(t, m, hosttest.ChildRequest("pwd")))
			_, err := m.Create(t.Context(), hosttest.ChildRequest("pwd"), nil)
			require.ErrorIs(t, err, c.err)
		})
	}
}
