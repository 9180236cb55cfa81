package otelacpterm_test

// Comparison of trace contexts as read here and by OpenTelemetry's propagators.

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/tracecontext"
)

// A traceparent and a tracestate are accepted exactly when the propagator accepts them, except for one error that it
// ignores, and yield the same span. The propagator takes all accepted baggage without an error.
func FuzzTraceContext(f *testing.F) {
	ids := "-" + traceID + "-" + spanID
	for _, seed := range [][3]string{
		{traceParent, "a=1", "a=1"},
		{"00" + ids + "-04", "a=1,,b=2", "a=1;p;q=2,b=%20"},
		{"01" + ids + "-ff-more", " a=1 ,\tb= 2", "a = 1 ; p = 3"},
		{"cc" + ids + "-01.", "t0/x@sys=~!,a=1,a=2", "a=%2"},
		{"ff" + ids + "-01", strings.Repeat("k=v,", 40), strings.Repeat("k=v,", 70) + "k=v"},
		{"00-" + strings.Repeat("0", 32) + "-" + spanID + "-01", "1=1", "a"},
		{"00" + strings.ToUpper(ids) + "-01", "a=b=c", "a=b=c,é=1"},
		{"00" + ids + "-01-", "a@=1,@b=1", "=1"},
		{"", "a= ,b=\x7f", "a=1;"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, parent, state, members string) {
		if !utf8.ValidString(parent+state+members) || len(parent) > 8000 || len(state) > 8000 || len(members) > 8000 {
			t.Skip("JSON has none such, or it is beyond the limits")
		}
		meta := make(acpterm.Meta)
		for key, text := range map[string]string{"traceparent": parent, "tracestate": state, "baggage": members} {
			encoded, err := json.Marshal(text)
			require.NoError(t, err)
			if len(encoded) > 16_000 {
				t.Skip("beyond the limits")
			}
			meta[key] = encoded
		}
		read := tracecontext.Read(meta)
		if read == nil {
			read = new(tracecontext.Context)
		}
		theirs := extract(propagation.MapCarrier{"traceparent": parent, "tracestate": state})
		if strings.HasPrefix(parent, "00-") && len(parent) == len(traceParent)+1 {
			theirs = trace.SpanContext{} // the propagator accepts a final dash, which is invalid in version 00
		}
		require.Equal(t, theirs.IsValid(), read.Parent != "")
		ours := extract(propagation.MapCarrier{"traceparent": read.Parent, "tracestate": read.State})
		require.True(t, theirs.Equal(ours))
		if theirs.IsValid() {
			require.Equal(t, theirs.TraceID().String(), read.TraceID())
			require.Equal(t, theirs.SpanID().String(), read.SpanID())
			_, err := trace.ParseTraceState(state)
			require.Equal(t, err == nil && strings.Trim(state, ",") != "", read.State != "")
		}
		if read.Baggage != "" {
			bag, err := baggage.Parse(read.Baggage)
			require.NoError(t, err)
			require.Positive(t, bag.Len())
		}
	})
}

func extract(carrier propagation.MapCarrier) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
