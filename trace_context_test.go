package acpterm_test

// Trace contexts: which are read from _meta, and that they and the times of a decision are in events and records.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/stretchr/testify/require"
)

const (
	testTraceID = "80e1afed08e019fc1110464cfa66635c"
	testSpanID  = "7a085853722dc6d2"
	testParent  = "00-" + testTraceID + "-" + testSpanID + "-01"
)

// metaOf is the _meta with these texts: key, text, key, text.
func metaOf(pairs ...string) acpterm.Meta {
	meta := acpterm.Meta{"other": json.RawMessage(`{"x":1}`)}
	for i := 0; i < len(pairs); i += 2 {
		text, err := json.Marshal(pairs[i+1])
		if err != nil {
			panic(err)
		}
		meta[pairs[i]] = text
	}
	return meta
}

func TestTraceParents(t *testing.T) {
	ids := testTraceID + "-" + testSpanID
	for _, valid := range []string{
		testParent, "00-" + ids + "-00", "00-" + ids + "-03", "01-" + ids + "-01", "fe-" + ids + "-ff",
		"cc-" + ids + "-01-what-the-future-brings", "01-" + ids + "-01-",
	} {
		c := metaOf("traceparent", valid).TraceContext()
		require.NotNil(t, c, valid)
		require.Equal(t, acpterm.TraceContext{Parent: valid[:55]}, *c)
		require.Equal(t, testTraceID, c.TraceID())
		require.Equal(t, testSpanID, c.SpanID())
	}
	for _, malformed := range []string{
		"", "00", "00-" + ids, "00-" + ids + "-1", "ff-" + ids + "-01", "0-" + ids + "-001", testParent + "-",
		testParent + "0",
		"01-" + ids + "-01x", "00-" + ids + "-04", "00-" + ids + "-11", " " + testParent, testParent + " ",
		"00-" + strings.ToUpper(ids) + "-01", "0g-" + ids + "-01", "00_" + ids + "-01",
		"00-" + strings.Repeat("0", 32) + "-" + testSpanID + "-01",
		"00-" + testTraceID + "-" + strings.Repeat("0", 16) + "-01",
		"00-" + testTraceID + testSpanID + "--01", "cc-" + ids + "-01-" + strings.Repeat("x", 8192),
	} {
		require.Nil(t, metaOf("traceparent", malformed, "tracestate", "a=1").TraceContext(), malformed)
	}
	for _, raw := range []string{"null", "1", `["` + testParent + `"]`, "{}", "true"} {
		require.Nil(t, acpterm.Meta{"traceparent": json.RawMessage(raw)}.TraceContext(), raw)
	}
	require.Empty(t, (*acpterm.TraceContext)(nil).TraceID())
	require.Empty(t, (*acpterm.TraceContext)(nil).SpanID())
}

// A malformed tracestate or baggage is dropped alone.
func TestTraceStatesAndBaggage(t *testing.T) {
	members := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("k%d=v", i))
		}
		return strings.Join(all, ",")
	}
	for _, state := range []string{
		"a=1", "a=1,b=2", " a=1 ,\tb= 2 x", "a=1,,b=2", "t0/x@sys*-_=~!", members(32),
		strings.Repeat("k", 256) + "=" + strings.Repeat("v", 256),
		strings.Repeat("1", 241) + "@" + strings.Repeat("s", 14) + "=v",
	} {
		c := metaOf("traceparent", testParent, "tracestate", state).TraceContext()
		require.Equal(t, &acpterm.TraceContext{Parent: testParent, State: state}, c)
		require.Nil(t, metaOf("tracestate", state).TraceContext(), "there is no traceparent")
	}
	for _, state := range []string{
		"", "a", "a=", "=1", "A=1", "1=1", "a=1,a=2", "a=b=c", "a=é", "a=\x01", "a =1", "a=1, ,b=2", "a@=1", "@b=1",
		"a@1=1", "a@b@c=1",
		members(33), strings.Repeat("k", 257) + "=v", "k=" + strings.Repeat("v", 257),
		strings.Repeat("1", 242) + "@s=v", "a@" + strings.Repeat("s", 15) + "=v", strings.Repeat(",", 8192) + "a=1",
	} {
		c := metaOf("traceparent", testParent, "tracestate", state, "baggage", "a=1").TraceContext()
		require.Equal(t, &acpterm.TraceContext{Parent: testParent, Baggage: "a=1"}, c, state)
	}
	for _, baggage := range []string{
		"a=1", "a=", "a=1,b=2", " a = 1 ; p ; q = 2 , b = %20%C3%a9", "A!#$%&'*+-.^_`|~=x=y", members(64),
		"k=" + strings.Repeat("v", 8190),
	} {
		require.Equal(t, &acpterm.TraceContext{Baggage: baggage}, metaOf("baggage", baggage).TraceContext())
	}
	for _, baggage := range []string{
		"", "a", "=1", "a=1,", "a=1,,b=2", "a b=1", "a=b c", "a=é", `a="b"`, `a=\`, "a=%", "a=%2", "a=%zz", "a=1;", "a=1;;p",
		"a=1;p q", "é=1",
		"a=\x00", members(65),
		"k=" + strings.Repeat("v", 8191),
	} {
		c := metaOf("traceparent", testParent, "tracestate", "a=1", "baggage", baggage).TraceContext()
		require.Equal(t, &acpterm.TraceContext{Parent: testParent, State: "a=1"}, c, baggage)
	}
}

func TestNoTraceContextAllocatesNothing(t *testing.T) {
	other := metaOf()
	for _, meta := range []acpterm.Meta{nil, {}, other} {
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = meta.TraceContext() }))
	}
}

// Events and records of a command have its trace, and its decision says when the create came and the question was asked
// and answered.
func TestEventsHaveTheTraceAndTheTimes(t *testing.T) {
	var log bytes.Buffer
	hook, events := record()
	logged := audit.LogEvents(slog.New(slog.NewJSONHandler(&log, nil)))
	allow := acpterm.ApprovalAllowOnce
	m := newManager(t, &acpterm.Options{
		Events: func(e acpterm.Event) { logged(e); hook(e) },
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.Requested.Args[1] == "print" {
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			}
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		}),
		Approve: func(context.Context, acpterm.Question) acpterm.Answer { return acpterm.Answer{Approval: allow} },
	})
	a := connect(t, m, nil)
	create := func(meta acpterm.Meta, child ...string) (decision *acpterm.DecisionEvent) {
		req := childRequest(child[0], child[1:]...)
		req.Meta = meta
		result, err := a.call(acpterm.MethodCreate, req)
		if err == nil {
			var created acpterm.CreateTerminalResponse
			require.NoError(t, json.Unmarshal(result, &created))
			a.mustCall(acpterm.MethodRelease, of(created.TerminalID))
		}
		decision = (<-events).(*acpterm.DecisionEvent)
		require.False(t, decision.Requested.IsZero())
		require.False(t, decision.Time.Before(decision.Requested))
		return decision
	}
	next := func() acpterm.Event { return <-events }

	asked := create(metaOf("traceparent", testParent, "tracestate", "a=1", "baggage", "b=2"), "exit", "0")
	trace := &acpterm.TraceContext{Parent: testParent, State: "a=1", Baggage: "b=2"}
	require.Equal(t, trace, asked.Trace)
	require.Equal(t, trace, next().(*acpterm.EndEvent).Trace)
	require.Equal(t, trace, next().(*acpterm.ReleaseEvent).Trace)
	require.False(t, asked.Asked.Before(asked.Requested))
	require.False(t, asked.Answered.Before(asked.Asked))
	require.False(t, asked.Time.Before(asked.Answered))

	allowed := create(metaOf("traceparent", "00-no", "tracestate", "a=1"), "print", "x")
	require.Nil(t, allowed.Trace)
	require.Zero(t, allowed.Asked)
	require.Zero(t, allowed.Answered)
	next()
	next()

	allow = acpterm.ApprovalRejectOnce
	denied := create(metaOf("traceparent", testParent), "exit", "0")
	require.Equal(t, acpterm.VerdictDeny, denied.Verdict)
	require.Equal(t, testTraceID, denied.Trace.TraceID())
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

// A command that was allowed and did not start has an end with a time.
func TestTheEndOfACommandThatDidNotStartHasATime(t *testing.T) {
	hook, events := record()
	m := newManager(t, &acpterm.Options{Events: hook, MaxTerminals: 1})
	create(t, m, childRequest("sleep"))
	decision := (<-events).(*acpterm.DecisionEvent)
	_, err := m.Create(t.Context(), childRequest("exit", "0"), nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
	<-events
	end := (<-events).(*acpterm.EndEvent)
	require.ErrorIs(t, end.Err, acpterm.ErrQuota)
	require.False(t, end.Ended.Before(decision.Time))
}
