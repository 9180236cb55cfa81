// Package otelacpterm instruments an acpterm.Manager with OpenTelemetry, creating spans and metrics for its commands:
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
// The package uses only the OpenTelemetry API. Where spans and metrics are sent is determined by the SDK that the
// program sets up. See docs/telemetry.md in the repository for a list of all attributes, events and instruments.
//
// The package is not named otel like its directory, because programs also import OpenTelemetry's own package otel. Like
// OpenTelemetry's contributed packages, it is named otel followed by the name of the instrumented library.
//
// # Spans
//
// Each allowed or denied command has a span, from the arrival of its create request to the command's end. Following the
// conventions for callers of command line programs (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans, version
// 1.43.0, status: development), the span is named after the executable's file. A traceparent in the request's _meta
// makes the agent's span the parent, and the context passed to processors and samplers carries the baggage.
//
// Spans never contain output or the values of variables. Arguments, and errors that may include them, are added only if
// Options.Arguments is set.
//
// Requests that do not name a runnable command, for example if the program is not found, have no span. Neither do
// commands run by the agent itself (see acpterm.Terminal's Attached).
package otelacpterm
