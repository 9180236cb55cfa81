package tracecontext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/tracecontext"
)

func TestMain(m *testing.M) { racetest.Main(m) }

const (
	testTraceID = "80e1afed08e019fc1110464cfa66635c"
	testSpanID  = "7a085853722dc6d2"
	testParent  = "00-" + testTraceID + "-" + testSpanID + "-01"
)

// metaOf returns a _meta with these texts. pairs are alternately keys and texts.
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
		c := tracecontext.Read(metaOf("traceparent", valid))
		require.NotNil(t, c, valid)
		require.Equal(t, tracecontext.Context{Parent: valid[:55]}, *c)
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
		require.Nil(t, tracecontext.Read(metaOf("traceparent", malformed, "tracestate", "a=1")), malformed)
	}
	for _, raw := range []string{"null", "1", `["` + testParent + `"]`, "{}", "true"} {
		require.Nil(t, tracecontext.Read(acpterm.Meta{"traceparent": json.RawMessage(raw)}), raw)
	}
	require.Empty(t, (*tracecontext.Context)(nil).TraceID())
	require.Empty(t, (*tracecontext.Context)(nil).SpanID())
}

// Only a malformed tracestate or baggage is dropped.
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
		c := tracecontext.Read(metaOf("traceparent", testParent, "tracestate", state))
		require.Equal(t, &tracecontext.Context{Parent: testParent, State: state}, c)
		require.Nil(t, tracecontext.Read(metaOf("tracestate", state)), "there is no traceparent")
	}
	for _, state := range []string{
		"", "a", "a=", "=1", "A=1", "1=1", "a=1,a=2", "a=b=c", "a=é", "a=\x01", "a =1", "a=1, ,b=2", "a@=1", "@b=1",
		"a@1=1", "a@b@c=1",
		members(33), strings.Repeat("k", 257) + "=v", "k=" + strings.Repeat("v", 257),
		strings.Repeat("1", 242) + "@s=v", "a@" + strings.Repeat("s", 15) + "=v", strings.Repeat(",", 8192) + "a=1",
	} {
		c := tracecontext.Read(metaOf("traceparent", testParent, "tracestate", state, "baggage", "a=1"))
		require.Equal(t, &tracecontext.Context{Parent: testParent, Baggage: "a=1"}, c, state)
	}
	for _, baggage := range []string{
		"a=1", "a=", "a=1,b=2", " a = 1 ; p ; q = 2 , b = %20%C3%a9", "A!#$%&'*+-.^_`|~=x=y", members(64),
		"k=" + strings.Repeat("v", 8190),
	} {
		require.Equal(t, &tracecontext.Context{Baggage: baggage}, tracecontext.Read(metaOf("baggage", baggage)))
	}
	for _, baggage := range []string{
		"", "a", "=1", "a=1,", "a=1,,b=2", "a b=1", "a=b c", "a=é", `a="b"`, `a=\`, "a=%", "a=%2", "a=%zz", "a=1;", "a=1;;p",
		"a=1;p q", "é=1",
		"a=\x00", members(65),
		"k=" + strings.Repeat("v", 8191),
	} {
		c := tracecontext.Read(metaOf("traceparent", testParent, "tracestate", "a=1", "baggage", baggage))
		require.Equal(t, &tracecontext.Context{Parent: testParent, State: "a=1"}, c, baggage)
	}
}

func TestNoTraceContextAllocatesNothing(t *testing.T) {
	other := metaOf()
	for _, meta := range []acpterm.Meta{nil, {}, other} {
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = tracecontext.Read(meta) }))
	}
}
