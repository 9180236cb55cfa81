// Package tracecontext reads the trace context sent by an agent in the _meta of a request, in the format of W3C Trace
// Context:
//
//	if from := tracecontext.Read(t.Request().Meta); from != nil {
//		logger.Info("started", "trace_id", from.TraceID(), "span_id", from.SpanID())
//	}
//
// Parsing is strict, because the values end up in the host's records and telemetry. To create spans, use the otel
// module, which also reads tracestate and baggage.
package tracecontext

import (
	"encoding/json"
	"strings"

	"github.com/acpterm/acpterm"
)

// A Context identifies the trace of a request.
type Context struct {
	// Parent is a valid traceparent, which consists of a version, the trace ID, the ID of the agent's span, and flags.
	// If the version is later than 00, Parent only includes the part common to all versions.
	Parent string
}

// TraceID returns the trace ID as 32 hexadecimal digits, or the empty string if c is nil.
func (c *Context) TraceID() string {
	if c == nil {
		return ""
	}
	return c.Parent[3:35]
}

// SpanID returns the ID of the agent's span as 16 hexadecimal digits, or the empty string if c is nil.
func (c *Context) SpanID() string {
	if c == nil {
		return ""
	}
	return c.Parent[36:52]
}

// maxTraceParent is the limit for a traceparent in JSON, in bytes. Later versions may be longer than version 00.
const maxTraceParent = 8192

// Read returns the traceparent in _meta, a key that ACP reserves for this purpose (see the Extensibility page of ACP),
// or nil if it is missing, malformed or longer than 8 KiB. To read the trace context of an event, pass the _meta of the
// create request, which is available as Subject.Meta.
func Read(meta acpterm.Meta) *Context {
	raw := meta["traceparent"]
	if len(raw) == 0 || len(raw) > maxTraceParent {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	if parent := traceParent(text); parent != "" {
		return &Context{parent}
	}
	return nil
}

// consistsOf reports whether all bytes of a text are in a set of ASCII characters.
func consistsOf(text, set string) bool { return strings.Trim(text, set) == "" }

// traceParent returns the part of a traceparent that all versions share, or an empty string if it is malformed.
func traceParent(text string) string {
	const form, version00, versionFF = "00-00000000000000000000000000000000-0000000000000000-00", "00-", "ff-"
	if len(text) < len(form) {
		return ""
	}
	parent, more := text[:len(form)], text[len(form):]
	for i := range len(form) {
		isDash := form[i] == '-'
		if isDash != (parent[i] == '-') || !isDash && !consistsOf(parent[i:i+1], "0123456789abcdef") {
			return ""
		}
	}
	switch c := (&Context{Parent: parent}); {
	case consistsOf(c.TraceID(), "0"), consistsOf(c.SpanID(), "0"), strings.HasPrefix(parent, versionFF):
		return ""
	case strings.HasPrefix(parent, version00): // has two flags, and nothing after them
		if more != "" || parent[len(parent)-2] != '0' || parent[len(parent)-1] > '3' {
			return ""
		}
	case more != "" && more[0] != '-':
		return ""
	}
	return strings.Clone(parent) // text may be long
}
