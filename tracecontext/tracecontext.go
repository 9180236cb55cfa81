// Package tracecontext reads the trace context that an agent sends in the _meta of a request, in the W3C Trace Context
// and W3C Baggage formats:
//
//	if from := tracecontext.Read(t.Request().Meta); from != nil {
//		logger.Info("started", "trace_id", from.TraceID(), "span_id", from.SpanID())
//	}
//
// Parsing is strict, because the values end up in the host's records and telemetry. To create spans, use the otel
// module.
package tracecontext

import (
	"encoding/json"
	"strings"

	"github.com/acpterm/acpterm"
)

// A Context identifies the trace of a request. Each field is either empty or contains a valid W3C header.
type Context struct {
	// Parent is the traceparent, which consists of a version, the trace ID, the ID of the agent's span, and flags. If
	// the version is later than 00, Parent only includes the part common to all versions. If only Baggage is set,
	// Parent is empty.
	Parent string
	// State is the tracestate. It is always empty if Parent is empty.
	State   string
	Baggage string
}

// TraceID returns the trace ID as 32 hexadecimal digits, or the empty string if c is nil or has no Parent.
func (c *Context) TraceID() string {
	if c == nil || c.Parent == "" {
		return ""
	}
	return c.Parent[3:35]
}

// SpanID returns the ID of the agent's span as 16 hexadecimal digits, or the empty string if c is nil or has no Parent.
func (c *Context) SpanID() string {
	if c == nil || c.Parent == "" {
		return ""
	}
	return c.Parent[36:52]
}

// maxTraceValue is the limit for each value, in bytes. W3C Baggage asks for this size, W3C Trace Context for less.
const maxTraceValue = 8192

// Read returns the values of traceparent, tracestate and baggage, which are the keys that ACP reserves for this purpose
// (see the Extensibility page of ACP). Read ignores malformed values, values longer than 8 KiB, and a tracestate
// without a valid traceparent. If this leaves no values, Read returns nil. To read the trace context of an event, pass
// the _meta of the create request, which is available as Subject.Meta.
func Read(meta acpterm.Meta) *Context {
	var c Context
	if c.Parent = traceParent(textOf(meta, "traceparent")); c.Parent != "" {
		if state := textOf(meta, "tracestate"); validTraceState(state) {
			c.State = state
		}
	}
	if baggage := textOf(meta, "baggage"); validBaggage(baggage) {
		c.Baggage = baggage
	}
	if c == (Context{}) {
		return nil
	}
	return new(c)
}

// textOf returns a text in meta, or an empty string if it is missing or too long.
func textOf(meta acpterm.Meta, key string) string {
	const escaped = 2 // bytes in JSON for a byte of these formats, at most
	raw := meta[key]
	if len(raw) == 0 || len(raw) > escaped*maxTraceValue {
		return ""
	}
	var text string // not a named result, which would always be allocated
	if json.Unmarshal(raw, &text) != nil || len(text) > maxTraceValue {
		return ""
	}
	return text
}

const (
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
	upperLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits       = "0123456789"
	stateKey     = lowerLetters + digits + "_-*/"                           // in keys of a tracestate
	baggageKey   = lowerLetters + upperLetters + digits + "!#$%&'*+-.^_`|~" // in keys of baggage
	blanks       = " \t"
)

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
		if dash := form[i] == '-'; dash != (parent[i] == '-') || !dash && !consistsOf(parent[i:i+1], digits+"abcdef") {
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

// validTraceState reports whether text is a list of at most 32 pairs of a unique key and a value.
func validTraceState(text string) bool {
	const maxMembers, maxValue = 32, 256
	seen := make(map[string]bool)
	for member := range strings.SplitSeq(text, ",") {
		if member == "" {
			continue
		}
		key, value, _ := strings.Cut(strings.Trim(member, blanks), "=")
		if !validStateKey(key) || seen[key] || value == "" || len(value) > maxValue {
			return false
		}
		for i := range len(value) {
			if value[i] < ' ' || value[i] > '~' || value[i] == '=' {
				return false
			}
		}
		seen[key] = true
	}
	return len(seen) > 0 && len(seen) <= maxMembers
}

// validStateKey reports whether key is a valid key of a tracestate: a system, or a tenant at a system.
func validStateKey(key string) bool {
	valid := func(name, first string, length int) bool {
		return name != "" && len(name) <= length && consistsOf(name[:1], first) && consistsOf(name, stateKey)
	}
	tenant, system, multiTenant := strings.Cut(key, "@")
	if !multiTenant {
		return valid(key, lowerLetters, 256)
	}
	return valid(tenant, lowerLetters+digits, 241) && valid(system, lowerLetters, 14)
}

// validBaggage reports whether text is a list of at most 64 pairs of a key and a value, with properties.
func validBaggage(text string) bool {
	const maxMembers = 64
	members := 0
	for member := range strings.SplitSeq(text, ",") {
		members++
		pair, properties, more := strings.Cut(member, ";")
		if members > maxMembers || !strings.Contains(pair, "=") || !validBaggagePair(pair) {
			return false
		}
		for more {
			pair, properties, more = strings.Cut(properties, ";")
			if !validBaggagePair(pair) {
				return false
			}
		}
	}
	return true
}

// validBaggagePair reports whether pair is a key, or a key and a value.
func validBaggagePair(pair string) bool {
	key, value, _ := strings.Cut(pair, "=")
	key, value = strings.Trim(key, blanks), strings.Trim(value, blanks)
	if key == "" || !consistsOf(key, baggageKey) {
		return false
	}
	for i := range len(value) {
		c := value[i]
		if c <= ' ' || c > '~' || strings.IndexByte(`",;\`, c) >= 0 {
			return false
		}
		if c == '%' && (len(value) < i+3 || !consistsOf(value[i+1:i+3], digits+"abcdefABCDEF")) {
			return false
		}
	}
	return true
}
