package otelacpterm

// Observe: from the events of a manager to the spans (spans.go) and metrics (metrics.go) of its commands.

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

// Options say what Observe makes. The zero value is nothing.
type Options struct {
	// TracerProvider gets the spans; nil: there are none.
	TracerProvider trace.TracerProvider
	// MeterProvider gets the metrics; nil: there are none.
	MeterProvider metric.MeterProvider
	// Arguments puts a command's arguments (process.command_args) on its span, and the text of the error as the
	// description of its status. They may hold secrets, and are as long as the agent makes them; the SDK can limit it.
	Arguments bool
}

const scope = "github.com/acpterm/acpterm/otel"

// Observe makes spans and metrics of the commands that a manager decides about from now on, until stop is called. It
// uses the events of Manager.Observe: a span processor, sampler or reader that blocks holds up the manager's other
// hooks, and no command. Without a provider it does nothing: there is no hook.
//
// stop ends the spans of commands that still run, with the event "acpterm.unobserved", and takes them off the number of
// running ones. It returns when nothing more will be recorded, and may be called again and concurrently, but by no hook
// of the manager. To have the ends of all commands, call it after Manager.Close.
//
// The error is the MeterProvider's, which does not make an instrument; stop does nothing then.
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

// observer is what Observe adds to a manager. Its methods are called one at a time: by the manager's hook, and after
// that has been removed.
type observer struct {
	tracer    trace.Tracer
	metrics   *instruments
	arguments bool
	commands  map[acpterm.TerminalID]*command // those that were allowed, until their EndEvent, which each has
}

// command is one that was allowed and has not ended.
type command struct {
	ctx     context.Context // has the span and the agent's baggage
	span    trace.Span
	waiting time.Time // when it came, later by the time that the question took
	running bool
}

// event is the manager's hook. Commands of the agent's own have ids of its choice, so they are told apart first.
func (o *observer) event(event acpterm.Event) {
	switch e := event.(type) {
	case *acpterm.DecisionEvent:
		o.decided(e)
	case *acpterm.StartEvent:
		if c := o.commands[e.TerminalID]; c != nil && !e.Attached {
			o.started(c, e)
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
		span.End(trace.WithTimestamp(e.Time))
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
	c.span.AddEvent("acpterm.started", trace.WithTimestamp(e.Time), trace.WithAttributes(waited))
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
	c.span.End(trace.WithTimestamp(e.Ended))
}

// leave ends the spans that are open.
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
