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
// The package depends only on the OpenTelemetry API. The SDK set up by the program determines where spans and metrics
// are sent. For a list of all attributes, events and instruments, see docs/telemetry.md in the repository.
//
// The package is not named otel after its directory, because programs also need to import OpenTelemetry's own package
// otel. Instead, it follows the convention of OpenTelemetry's contributed packages: its name is otel followed by the
// name of the library that it instruments.
//
// # Spans
//
// A span is created for each command, whether the command is allowed or denied. The span starts when the create request
// arrives and ends when the command ends or is denied. It is named after the executable file, following the conventions
// for callers of command line programs (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans, version 1.43.0,
// status: development). If the _meta of the request contains a traceparent, the agent's span is the parent of the
// command's span. Any baggage in the request is available from the context passed to processors and samplers.
//
// Spans never contain output or the values of variables. Arguments, and errors that may contain arguments, are only
// included if Options.Arguments is set.
//
// If a request does not name a runnable command, for example because the program is not found, no span is created. The
// same is true for commands that the agent runs itself (see acpterm.Terminal's Attached).
package otelacpterm
