package otelacpterm_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	otelacpterm "github.com/acpterm/acpterm/otel"
)

// A program sets up the SDK with an exporter of its choice, and observes its manager.
func ExampleObserve() {
	exporter := tracetest.NewInMemoryExporter() // in a program, for example otlptracegrpc's
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	m, err := acpterm.NewManager(&acpterm.Options{
		Runner: acptermtest.Commands{"go test ./...": acptermtest.Print("FAIL\n", 1)}, // not in a program
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	stop, err := otelacpterm.Observe(m, otelacpterm.Options{TracerProvider: spans})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	t, err := m.Create(ctx, acpterm.CreateTerminalRequest{
		SessionID: "s1", Command: "go", Args: []string{"test", "./..."},
		Meta: acpterm.Meta{"traceparent": []byte(`"00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01"`)},
	}, nil)
	if err == nil {
		t.Wait(ctx)
	}
	m.Close() // ends all commands, and returns when they have been observed
	stop()
	spans.ForceFlush(ctx)
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.SpanContext.TraceID(), span.Name, span.Status.Code)
	}
	// Output:
	// 80e1afed08e019fc1110464cfa66635c go Error
}
