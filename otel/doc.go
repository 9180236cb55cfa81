// Package otelacpterm creates spans and metrics for the commands of an acpterm.Manager, with the API of OpenTelemetry:
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
// The SDK that the program has set up decides where they go; this package does not import one. The page
// docs/telemetry.md of the repository lists every attribute, event and instrument.
//
// The package is not named otel like its directory, since programs that use it also import OpenTelemetry's package
// otel. Its name has the form of OpenTelemetry's contributed packages: otel and the name of the observed library.
//
// # Spans
//
// Each decided command has a span, from the arrival of its create to its end. It follows the conventions for callers of
// command line programs (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans, semantic conventions 1.43.0,
// status: development): its name is that of the executable's file. A traceparent in the create's _meta makes the
// agent's span its parent; the context that processors and samplers get has the baggage.
//
// Spans never contain values of variables, or output. They contain arguments, and errors that may include arguments,
// only with Options.Arguments.
//
// A create that does not name a runnable command, for example because the program is not found, has no span, and
// neither has a command that the agent runs itself (acpterm.Terminal's Attached).
package otelacpterm
