package tracecontext_test

import (
	"encoding/json"
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

// metaOf returns a _meta with a traceparent.
func metaOf(traceParent string) acpterm.Meta {
	text, err := json.Marshal(traceParent)
	if err != nil {
		panic(err)
	}
	return acpterm.Meta{"other": json.RawMessage(`{"x":1}`), "traceparent": text}
}

func TestTraceParents(t *testing.T) {
	ids := testTraceID + "-" + testSpanID
	for _, valid := range []string{
		testParent, "00-" + ids + "-00", "00-" + ids + "-03", "01-" + ids + "-01", "fe-" + ids + "-ff",
		"cc-" + ids + "-01-what-the-future-brings", "01-" + ids + "-01-",
	} {
		c := tracecontext.Read(metaOf(valid))
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
		require.Nil(t, tracecontext.Read(metaOf(malformed)), malformed)
	}
	for _, raw := range []string{"null", "1", `["` + testParent + `"]`, "{}", "true"} {
		require.Nil(t, tracecontext.Read(acpterm.Meta{"traceparent": json.RawMessage(raw)}), raw)
	}
	require.Empty(t, (*tracecontext.Context)(nil).TraceID())
	require.Empty(t, (*tracecontext.Context)(nil).SpanID())
}

func TestNoTraceContextAllocatesNothing(t *testing.T) {
	for _, meta := range []acpterm.Meta{nil, {}, {"other": json.RawMessage(`{"x":1}`)}} {
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = tracecontext.Read(meta) }))
	}
}
