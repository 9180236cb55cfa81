package otelacpterm_test

// Comparison of trace contexts as read by tracecontext and by OpenTelemetry's propagator.

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/tracecontext"
)

// A traceparent is accepted exactly when the propagator accepts it, except for one error that it ignores, and yields the
// same span.
func FuzzTraceContext(f *testing.F) {
	ids := "-" + traceID + "-" + spanID
	for _, seed := range []string{
		traceParent, "00" + ids + "-04", "01" + ids + "-ff-more", "cc" + ids + "-01.", "ff" + ids + "-01",
		"00-" + strings.Repeat("0", 32) + "-" + spanID + "-01", "00" + strings.ToUpper(ids) + "-01", "00" + ids + "-01-", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, parent string) {
		encoded, err := json.Marshal(parent)
		require.NoError(t, err)
		if json.Unmarshal(encoded, &parent); len(encoded) > 8000 { // in valid UTF-8
			t.Skip("beyond the limit")
		}
		read := tracecontext.Read(acpterm.Meta{"traceparent": encoded})
		theirs := extract(parent)
		if strings.HasPrefix(parent, "00-") && len(parent) == len(traceParent)+1 {
			theirs = trace.SpanContext{} // the propagator accepts a final dash, which is invalid in version 00
		}
		require.Equal(t, theirs.IsValid(), read != nil)
		if read != nil {
			require.True(t, theirs.Equal(extract(read.Parent)))
			require.Equal(t, theirs.TraceID().String(), read.TraceID())
			require.Equal(t, theirs.SpanID().String(), read.SpanID())
		}
	})
}

func extract(parent string) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": parent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}
