// Package otelacpterm creates spans and metrics for an acpterm.Manager's commands, using the OpenTelemetry API:
//
//	import otelacpterm "github.com/acpterm/acpterm/otel"
//
//	stop, err := otelacpterm.Observe(m, otelacpterm.Options{
//		TracerProvider: otel.GetTracerProvider(),
//		MeterProvider:  otel.GetMeterProvider(),
//	})
//	…
//	m.Close() // ends all commands, and returns when they have been observed
//	stop()
//
// Where they are sent is up to the SDK set up by the program. This package does not import one. See docs/telemetry.md
// in the repository for a list of all attributes, events and instruments.
//
// The package is not named otel like its directory, because its users also import OpenTelemetry's package otel. As with
// OpenTelemetry's contributed packages, its name is otel followed by the observed library's name.
//
// # Spans
//
// Once a command is decided about, it has a span, from the arrival of its create to its end. Following the conventions
// for callers of command line programs (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans, version 1.43.0,
// status: development), the span is named after the executable's file. A traceparent in the create's _meta makes the
// agent's span the parent, and the context passed to processors and samplers has the baggage.
//
// Spans never contain output or the values of variables. Arguments, and errors that may include them, are added only if
// Options.Arguments is set.
//
// Creates that do not name a runnable command, for example because the program is not found, do not have a span, nor do
// commands run by the agent itself (see acpterm.Terminal's Attached).
package otelacpterm
