package otelacpterm

// Observe turns the events of a manager into spans (spans.go) and metrics (metrics.go).

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/acpterm/acpterm"
)

// Options specifies optional settings for Observe. If neither provider is set, Observe does nothing.
type Options struct {
	// TracerProvider creates the spans. If nil, no spans are created.
	TracerProvider trace.TracerProvider
	// MeterProvider records the metrics. If nil, no metrics are recorded.
	MeterProvider metric.MeterProvider
	// Arguments adds the arguments of each command to its span (process.command_args), and adds error messages to the
	// status description. Note that both may contain secrets, and that their length is not limited unless the SDK
	// imposes a limit.
	Arguments bool
}

const scope = "github.com/acpterm/acpterm/otel"

// Observe creates spans and metrics for all subsequent commands that m allows or denies, until stop is called. Since
// Observe is based on Manager.Observe, a span processor, sampler or reader that blocks will delay the manager's other
// hooks and, once 10,000 events are waiting, cause Create to fail with ErrQuota. If neither provider is set, Observe
// does nothing and does not add a hook.
//
// Calling stop ends the spans of running commands with the event "acpterm.unobserved" and subtracts those commands from
// the number of running commands. Nothing is recorded after stop returns. It is safe to call stop more than once and
// from multiple goroutines, but stop must not be called from one of the manager's hooks. To record how every command
// ended, call Manager.Close before calling stop.
//
// If the MeterProvider fails to create an instrument, Observe returns an error, and calling stop has no effect.
func Observe(m *acpterm.Manager, o Options) (stop func(), err error) {
	if o.TracerProvider == nil && o.MeterProvider == nil {
		return func() {}, nil
	}
	if o.TracerProvider == nil {
		o.TracerProvider = nooptrace.NewTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = noopmetric.NewMeterProvider()
	}
	metrics, err := newInstruments(o.MeterProvider.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)))
	if err != nil {
		return func() {}, err
	}
	observed := &observer{
		tracer:    o.TracerProvider.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL)),
		metrics:   metrics,
		arguments: o.Arguments,
		commands:  make(map[acpterm.TerminalID]*command),
	}
	remove := m.Observe(observed.event)
	var once sync.Once
	return func() {
		remove()
		once.Do(observed.leave)
	}, nil
}

// observer is the hook that Observe adds to a manager. Only one goroutine at a time calls its methods: the manager's
// hook, and stop after the hook is removed.
type observer struct {
	tracer    trace.Tracer
	metrics   *instruments
	arguments bool
	commands  map[acpterm.TerminalID]*command // the allowed ones, until their EndEvent; each has one
}

// command is an allowed command that has not ended.
type command struct {
	ctx     context.Context // has the span and the agent's baggage
	span    trace.Span
	waiting time.Time // the arrival of the create, plus the time that the question took
	running bool
}

// event is the manager's hook. An agent chooses the ids of its own commands, so event must exclude those.
func (o *observer) event(event acpterm.Event) {
	switch e := event.(type) {
	case *acpterm.DecisionEvent:
		o.decided(e)
	case *acpterm.StartEvent:
		if c := o.commands[e.TerminalID]; c != nil && !e.Attached {
			o.started(c, e)
		}
	case *acpterm.SurvivorsEvent:
		if c := o.commands[e.TerminalID]; c != nil && !e.Attached && e.Err != nil { // the EndEvent has the survivors
			c.span.SetAttributes(doubtKey.String(valid(e.Err.Error())))
		}
	case *acpterm.EndEvent:
		if c := o.commands[e.TerminalID]; c != nil && !e.Attached {
			delete(o.commands, e.TerminalID)
			o.ended(c, e)
		}
	}
}

func (o *observer) decided(e *acpterm.DecisionEvent) {
	ctx, span := o.startSpan(e)
	if e.Verdict != acpterm.VerdictAllow {
		kind := kindOf(e.Err)
		o.setError(span, kind, e.Err)
		span.End(since(e.Requested, e.Time))
		o.metrics.denied.Add(ctx, 1, metric.WithAttributes(errorType(kind), ruleKey.String(valid(e.Rule))))
		return
	}
	o.commands[e.TerminalID] = &command{ctx: ctx, span: span, waiting: e.Requested.Add(e.Answered.Sub(e.Asked))}
}

func (o *observer) started(c *command, e *acpterm.StartEvent) {
	c.running = true
	if e.PID > 0 {
		c.span.SetAttributes(semconv.ProcessPID(e.PID))
	}
	waited := waitedKey.Float64(e.Time.Sub(c.waiting).Seconds())
	c.span.AddEvent("acpterm.started", since(c.waiting, e.Time), trace.WithAttributes(waited))
	o.metrics.started.Add(c.ctx, 1)
	o.metrics.running.Add(c.ctx, 1)
}

func (o *observer) ended(c *command, e *acpterm.EndEvent) {
	if c.running {
		o.metrics.running.Add(c.ctx, -1)
	}
	if e.Err != nil {
		kind := kindOf(e.Err)
		o.setError(c.span, kind, e.Err)
		o.metrics.failed.Add(c.ctx, 1, metric.WithAttributes(errorType(kind)))
	} else {
		c.span.SetAttributes(endAttributes(e)...)
		failure := failureOf(e)
		if failure != "" {
			o.setError(c.span, failure, nil)
		}
		o.metrics.ended(c.ctx, e, failure)
	}
	c.span.End(since(c.waiting, e.Ended))
}

// leave ends the open spans.
func (o *observer) leave() {
	for _, c := range o.commands {
		if c.running {
			o.metrics.running.Add(c.ctx, -1)
		}
		c.span.AddEvent("acpterm.unobserved")
		c.span.End()
	}
	o.commands = nil
}
