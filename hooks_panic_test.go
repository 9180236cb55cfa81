package acpterm_test

// Functions of the embedder's that panic while a command is created.

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// lockedBuffer is a bytes.Buffer for concurrent use.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// captureLog returns a buffer that receives what is logged by slog during the test.
func captureLog(t *testing.T) *lockedBuffer {
	buffer := new(lockedBuffer)
	logger, writer, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(buffer, nil)))
	t.Cleanup(func() {
		slog.SetDefault(logger)
		log.SetOutput(writer) // SetDefault has changed it
		log.SetFlags(flags)
	})
	return buffer
}

// A panic in one of these fails its request, is logged with its stack, and nothing else suffers.
func TestPanicsWhileCreatingFailThatRequest(t *testing.T) {
	panicIfBad := func(c acpterm.Command) {
		if c.Args[len(c.Args)-1] == "bad" {
			panic("secret")
		}
	}
	answerOnce := func(context.Context, acpterm.Question) acpterm.Answer {
		return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
	}
	ask := &verdict{decision: acpterm.Decision{Verdict: acpterm.VerdictAsk}}
	for name, options := range map[string]acpterm.Options{
		"Policy": {Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			panicIfBad(p.Command)
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		})},
		"Approve": {Policy: ask, Approve: func(ctx context.Context, q acpterm.Question) acpterm.Answer {
			panicIfBad(q.Command)
			return answerOnce(ctx, q)
		}},
		"TimeoutFor": {Policy: ask, Approve: answerOnce, TimeoutFor: func(_ acpterm.SessionID, c acpterm.Command) time.Duration {
			panicIfBad(c)
			return 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			log := captureLog(t)
			hook, events := record()
			options.Events = hook
			m := newManager(t, &options)
			p := connectPeer(t, m, nil)

			r := p.ask(`1`, acpterm.MethodCreate, childRequest("print", "bad"))
			require.NotNil(t, r.Error)
			require.EqualValues(t, -32603, r.Error.Code)
			require.JSONEq(t, `{"kind":"internal","sessionId":"s","reason":"the host's `+name+` function panicked"}`, string(*r.Error.Data))
			require.NotContains(t, r.Error.Message, "secret")
			require.Empty(t, m.Terminals())

			d := (<-events).(*acpterm.DecisionEvent)
			if name == "TimeoutFor" {
				require.Equal(t, acpterm.VerdictAllow, d.Verdict)
				require.ErrorIs(t, (<-events).(*acpterm.EndEvent).Err, acpterm.ErrInternal)
			} else {
				require.Equal(t, acpterm.VerdictDeny, d.Verdict)
				require.ErrorIs(t, d.Err, acpterm.ErrInternal)
			}
			require.Contains(t, log.String(), name)
			require.Contains(t, log.String(), "secret")
			require.Contains(t, log.String(), "hooks_panic_test.go", "the stack")

			p.works()
			create(t, m, childRequest("print", "good"))
		})
	}
}
