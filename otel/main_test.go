package otelacpterm_test

// Helpers: commands, connections, and the content of the SDK's in-memory exporter and reader.

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	otelacpterm "github.com/acpterm/acpterm/otel"
)

func TestMain(m *testing.M) {
	children.Main(nil)
	racetest.Restart()
	os.Exit(m.Run())
}

// request returns a request for a child in session "s".
func request(child string, args ...string) acpterm.CreateTerminalRequest {
	argv := children.Args(child, args...)
	return acpterm.CreateTerminalRequest{SessionID: "s", Command: argv[0], Args: argv[1:]}
}

// telemetry is the recorded telemetry of a manager.
type telemetry struct {
	t        testing.TB
	stop     func()
	exporter *tracetest.InMemoryExporter
	reader   *sdkmetric.ManualReader
}

// observe observes a manager with the SDK's providers.
func observe(t testing.TB, m *acpterm.Manager, o otelacpterm.Options, more ...sdktrace.TracerProviderOption) *telemetry {
	t.Helper()
	seen := &telemetry{t: t, exporter: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	o.TracerProvider = sdktrace.NewTracerProvider(append(more, sdktrace.WithSyncer(seen.exporter))...)
	o.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(seen.reader))
	var err error
	seen.stop, err = otelacpterm.Observe(m, o)
	require.NoError(t, err)
	return seen
}

// spans returns the ended spans, the oldest first.
func (s *telemetry) spans() tracetest.SpanStubs {
	spans := s.exporter.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return spans
}

// span returns the only span.
func (s *telemetry) span() tracetest.SpanStub {
	s.t.Helper()
	require.Len(s.t, s.spans(), 1)
	return s.spans()[0]
}

// attributes returns the attributes of a span or an event as a map.
func attributes(of []attribute.KeyValue) map[string]any {
	all := make(map[string]any)
	for _, a := range of {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// points returns an instrument's values, or the counts of a histogram, by their attributes as text.
func (s *telemetry) points(name string) map[string]int64 {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(s.t, s.reader.Collect(context.Background(), &all))
	points := make(map[string]int64)
	for _, scope := range all.ScopeMetrics {
		require.Equal(s.t, "github.com/acpterm/acpterm/otel", scope.Scope.Name)
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[p.Attributes.Encoded(attribute.DefaultEncoder())] = int64(p.Count)
				}
			}
		}
	}
	return points
}

func create(t testing.TB, m *acpterm.Manager, req acpterm.CreateTerminalRequest) *acpterm.Terminal {
	t.Helper()
	terminal, err := m.Create(t.Context(), req, nil)
	require.NoError(t, err)
	return terminal
}

// ready returns when a command has written its first output.
func ready(t testing.TB, terminal *acpterm.Terminal) {
	t.Helper()
	for range terminal.Follow(t.Context(), 0) {
		return
	}
}
