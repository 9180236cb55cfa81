package embedtest

// The times of a decision, and the trace of its request, in events and records.

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/tracecontext"
	"github.com/stretchr/testify/require"
)

const (
	testTraceID = "80e1afed08e019fc1110464cfa66635c"
	testSpanID  = "7a085853722dc6d2"
	testParent  = "00-" + testTraceID + "-" + testSpanID + "-01"
)

// metaOf returns a _meta with these texts: key, text, key, text.
func metaOf(pairs ...string) acpterm.Meta {
	meta := make(acpterm.Meta)
	for i := 0; i < len(pairs); i += 2 {
		meta[pairs[i]], _ = json.Marshal(pairs[i+1])
	}
	return meta
}

// Events and records of a command have its trace. Its decision has the times of the create, the question and the
// answer.
func TestEventsHaveTheTraceAndTheTimes(t *testing.T) {
	var log bytes.Buffer
	hook, events := hosttest.Record()
	logged := audit.LogEvents(slog.New(slog.NewJSONHandler(&log, nil)))
	allow := acpterm.ApprovalAllowOnce
	m := hosttest.NewManager(t, &acpterm.Options{
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.Requested.Args[1] == "print" {
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			}
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		}),
		Approve: func(context.Context, acpterm.Question) acpterm.Answer { return acpterm.Answer{Approval: allow} },
	}, func(e acpterm.Event) { logged(e); hook(e) })
	a := hosttest.Connect(t, m, nil)
	create := func(meta acpterm.Meta, child ...string) (decision *acpterm.DecisionEvent) {
		req := hosttest.ChildRequest(child[0], child[1:]...)
		req.Meta = meta
		result, err := a.Do(acpterm.MethodCreate, req)
		if err == nil {
			var created acpterm.CreateTerminalResponse
			require.NoError(t, json.Unmarshal(result, &created))
			a.MustDo(acpterm.MethodRelease, hosttest.Of(created.TerminalID))
		}
		decision = (<-events).(*acpterm.DecisionEvent)
		require.False(t, decision.Requested.IsZero())
		require.False(t, decision.Time.Before(decision.Requested))
		return decision
	}
	next := func() acpterm.Event { return <-events }

	asked := create(metaOf("traceparent", testParent, "tracestate", "a=1", "baggage", "b=2"), "exit", "0")
	trace := &tracecontext.Context{Parent: testParent}
	require.Equal(t, trace, tracecontext.Read(asked.Meta))
	require.Equal(t, trace, tracecontext.Read(next().(*acpterm.EndEvent).Meta))
	require.Equal(t, trace, tracecontext.Read(next().(*acpterm.ReleaseEvent).Meta))
	require.False(t, asked.Asked.Before(asked.Requested))
	require.False(t, asked.Answered.Before(asked.Asked))
	require.False(t, asked.Time.Before(asked.Answered))

	allowed := create(metaOf("traceparent", "00-no", "tracestate", "a=1"), "print", "x")
	require.Nil(t, tracecontext.Read(allowed.Meta))
	require.Zero(t, allowed.Asked)
	require.Zero(t, allowed.Answered)
	next()
	next()

	allow = acpterm.ApprovalRejectOnce
	denied := create(metaOf("traceparent", testParent), "exit", "0")
	require.Equal(t, acpterm.VerdictDeny, denied.Verdict)
	require.Equal(t, testTraceID, tracecontext.Read(denied.Meta).TraceID())
	require.False(t, denied.Answered.IsZero())

	require.NoError(t, m.Close())
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 5)
	for i, traced := range []bool{true, true, false, false, true} {
		ids := `"trace_id":"` + testTraceID + `","span_id":"` + testSpanID + `"`
		require.Equal(t, traced, strings.Contains(lines[i], ids), lines[i])
		require.Equal(t, traced, strings.Contains(lines[i], "trace_id"), lines[i])
	}
}

// The end of an allowed command that did not start has a time.
func TestTheEndOfACommandThatDidNotStartHasATime(t *testing.T) {
	hook, events := hosttest.Record()
	m := hosttest.NewManager(t, &acpterm.Options{MaxTerminals: 1}, hook)
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	decision := (<-events).(*acpterm.DecisionEvent)
	_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
	<-events
	end := (<-events).(*acpterm.EndEvent)
	require.ErrorIs(t, end.Err, acpterm.ErrQuota)
	require.False(t, end.Ended.Before(decision.Time))
}
