// Package otelacpterm makes spans and metrics of the commands of an acpterm.Manager, by the API of OpenTelemetry:
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
// Where they go is up to the SDK that the program has set up; this package imports none. The page docs/telemetry.md of
// the repository lists every attribute, event and instrument.
//
// The package is not named otel, as the directory is, since programs that use it import OpenTelemetry's package of that
// name too; otel and the name of what is observed is how packages of its contributors are named.
//
// # Spans
//
// There is one for each command that was decided about, from when its create came to its end, by the conventions for
// callers of command line programs (https://opentelemetry.io/docs/specs/semconv/cli/cli-spans, semantic conventions
// 1.43.0, status: development): its name is that of the executable's file. A traceparent in the create's _meta makes
// the agent's span its parent; baggage is in the context that processors and samplers get.
//
// No span has the value of a variable, or output. Arguments, and errors that may have them, are there with
// Options.Arguments alone.
//
// A create that names no command which could be run, such as a program that is not found, has no span, nor has a
// command that the agent runs itself (acpterm.Terminal's Attached).
package otelacpterm
