package otelacpterm

// Spans: their names, parents, attributes and errors.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/tracecontext"
)

// The attributes outside of the semantic conventions. Metrics have only ruleKey of them.
const (
	terminalKey  = attribute.Key("acpterm.terminal.id")
	sessionKey   = attribute.Key("acpterm.session.id")
	verdictKey   = attribute.Key("acpterm.verdict")
	ruleKey      = attribute.Key("acpterm.rule")
	approvalKey  = attribute.Key("acpterm.approval")
	answeredKey  = attribute.Key("acpterm.approval.duration")
	waitedKey    = attribute.Key("acpterm.queue.duration")
	endedByKey   = attribute.Key("acpterm.ended_by")
	signalKey    = attribute.Key("acpterm.signal")
	bytesKey     = attribute.Key("acpterm.output.bytes")
	droppedKey   = attribute.Key("acpterm.output.dropped")
	survivorsKey = attribute.Key("acpterm.survivors")
	doubtKey     = attribute.Key("acpterm.survivors.doubt")
)

// startSpan starts the span of a command, with the attributes known at its decision.
func (o *observer) startSpan(e *acpterm.DecisionEvent) (context.Context, trace.Span) {
	name := baseName(e.Name)
	attributes := []attribute.KeyValue{
		semconv.ProcessExecutableName(name),
		terminalKey.String(valid(string(e.TerminalID))), sessionKey.String(valid(string(e.SessionID))),
		verdictKey.String(e.Verdict.String()),
	}
	if e.Rule != "" {
		attributes = append(attributes, ruleKey.String(valid(e.Rule)))
	}
	if e.Approval != "" {
		attributes = append(attributes, approvalKey.String(e.Approval))
	}
	if o.arguments {
		var args []string
		for _, arg := range e.Args {
			args = append(args, valid(arg))
		}
		attributes = append(attributes, semconv.ProcessCommandArgs(args...))
	}
	ctx, span := o.tracer.Start(parent(e.Meta), name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(e.Requested), trace.WithAttributes(attributes...))
	if !e.Asked.IsZero() {
		span.AddEvent("acpterm.asked", since(e.Requested, e.Asked))
	}
	if !e.Answered.IsZero() {
		took := answeredKey.Float64(e.Answered.Sub(e.Asked).Seconds())
		span.AddEvent("acpterm.answered", since(e.Requested, e.Answered), trace.WithAttributes(took))
	}
	span.AddEvent("acpterm.decided", since(e.Requested, e.Time))
	return ctx, span
}

// since returns a time by the clock that start was read from, so that lengths are right if the clock was set in between.
func since(start, t time.Time) trace.SpanEventOption {
	return trace.WithTimestamp(start.Add(t.Sub(start)))
}

// parent returns a context with the agent's span and baggage. Malformed ones are ignored.
func parent(meta acpterm.Meta) context.Context {
	ctx := context.Background()
	text := func(key string) (text string) { json.Unmarshal(meta[key], &text); return text }
	if c := tracecontext.Read(meta); c != nil {
		carrier := propagation.MapCarrier{"traceparent": c.Parent, "tracestate": text("tracestate")}
		ctx = propagation.TraceContext{}.Extract(ctx, carrier)
	}
	if members, err := baggage.Parse(text("baggage")); err == nil {
		ctx = baggage.ContextWithBaggage(ctx, members)
	}
	return ctx
}

// baseName returns the last element of a path of this system or another one.
func baseName(path string) string { return valid(path[strings.LastIndexAny(path, `/\`)+1:]) }

// valid replaces invalid UTF-8. File names may contain it, and OTLP refuses a whole export that does.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// endAttributes returns the attributes of a command that ran.
func endAttributes(e *acpterm.EndEvent) []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		endedByKey.String(string(e.EndedBy)), bytesKey.Int64(e.Bytes), droppedKey.Int64(e.Dropped),
	}
	if e.Status != nil && e.Status.ExitCode != nil {
		attributes = append(attributes, semconv.ProcessExitCode(int(*e.Status.ExitCode)))
	}
	if e.Status != nil && e.Status.Signal != nil {
		attributes = append(attributes, signalKey.String(valid(*e.Status.Signal)))
	}
	if len(e.Survivors) > 0 {
		attributes = append(attributes, survivorsKey.IntSlice(e.Survivors))
	}
	return attributes
}

// setError marks a span as failed.
func (o *observer) setError(span trace.Span, failure string, err error) {
	description := ""
	if err != nil && o.arguments { // a denial's error contains arguments
		description = valid(err.Error())
	}
	span.SetStatus(codes.Error, description)
	span.SetAttributes(errorType(failure))
}

// errorType returns the attribute error.type, which metrics also have: its values come from kindOf and failureOf.
func errorType(failure string) attribute.KeyValue { return semconv.ErrorTypeKey.String(failure) }

// otherError is the conventional value for an error without a name.
const otherError = "_OTHER"

// kinds lists the error kinds of a create that names a command. A Runner's errors could have any kind.
var kinds = []acpterm.Kind{
	acpterm.ErrInvalidParams, acpterm.ErrNotExecutable, acpterm.ErrCommandNotFound, acpterm.ErrCancelled,
	acpterm.ErrDenied, acpterm.ErrSessionNotFound, acpterm.ErrQuota, acpterm.ErrClosing, acpterm.ErrConnectionLost,
	acpterm.ErrInternal,
}

// kindOf returns the kind of the error of a command that did not run.
func kindOf(err error) string {
	if e, ok := errors.AsType[*acpterm.Error](err); ok && slices.Contains(kinds, e.Kind) {
		return string(e.Kind)
	}
	return otherError
}

// signals lists the names that failureOf may return. A Runner's commands could have any name.
var signals = []string{
	"SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV",
	"SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGXCPU", "SIGXFSZ", "SIGSYS",
}

// failureOf says how a command failed after it ran. If it did not end by itself, failureOf returns the reason for its
// end. Otherwise it returns the signal, "exit_code", or "exit_lost" if the status is unknown. It returns an empty
// string for exit code 0.
func failureOf(e *acpterm.EndEvent) string {
	switch status := e.Status; {
	case status != nil && status.Success():
		return ""
	case e.EndedBy != acpterm.EndedByItself:
		return string(e.EndedBy)
	case status == nil:
		return string(acpterm.ErrExitLost)
	case status.Signal == nil:
		return "exit_code"
	case slices.Contains(signals, *status.Signal):
		return *status.Signal
	}
	return "signal"
}
