package otelacpterm_test

// Tests of when a manager is observed: from Observe to stop, and not without a provider.

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	otelacpterm "github.com/acpterm/acpterm/otel"
)

// stop ends the spans of running commands and subtracts these from the number of running commands. Later commands, and
// commands decided before Observe, are not observed.
func TestObserveAndStopInTheMiddle(t *testing.T) {
	m := acptermtest.NewManager(t, nil)
	before := create(t, m, request("sleep"))
	seen := observe(t, m, otelacpterm.Options{})
	require.NoError(t, before.Kill(t.Context()))
	running := create(t, m, request("sleep"))
	ready(t, running)
	require.Eventually(t, func() bool { return seen.points("acpterm.command.running")[""] == 1 }, time.Minute, time.Millisecond)
	require.Empty(t, seen.spans())

	var stops sync.WaitGroup
	for range 3 {
		stops.Go(func() {
			seen.stop()
			if len(seen.spans()) != 1 {
				t.Error("stop has returned before the span has ended")
			}
		})
	}
	stops.Wait()
	span := seen.span()
	require.Equal(t, string(running.ID()), attributes(span.Attributes)["acpterm.terminal.id"])
	require.Equal(t, []string{"acpterm.decided", "acpterm.started", "acpterm.unobserved"}, eventNames(span))
	require.Equal(t, sdktrace.Status{}, span.Status)
	require.Equal(t, map[string]int64{"": 0}, seen.points("acpterm.command.running"))

	create(t, m, request("exit", "0"))
	require.NoError(t, m.Close())
	seen.stop()
	seen.span()
	require.Equal(t, map[string]int64{"": 1}, seen.points("acpterm.command.started"))
	require.Empty(t, seen.points("acpterm.command.duration"))
}

// When creates, ends and stop run concurrently, each started span has ended exactly once after stop has returned.
func TestStopBesideCreates(t *testing.T) {
	for range 20 {
		m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"*": acptermtest.Print("x", 0)}})
		parents := new(startedSpans)
		seen := observe(t, m, otelacpterm.Options{}, sdktrace.WithSpanProcessor(parents))
		first := make(chan struct{})
		var busy sync.WaitGroup
		for range 4 {
			var once sync.Once
			busy.Go(func() {
				for range 20 {
					_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"}, nil)
					if err != nil {
						t.Error(err)
					}
					once.Do(func() { first <- struct{}{} })
				}
			})
		}
		for range 4 {
			<-first
		}
		seen.stop()
		ended := len(seen.spans())
		require.Len(t, parents.contexts, ended)
		require.Zero(t, seen.points("acpterm.command.running")[""])
		busy.Wait()
		require.NoError(t, m.Close())
		require.Len(t, seen.spans(), ended)
	}
}

// Either provider is sufficient, and the instruments have descriptions.
func TestOneProviderIsEnough(t *testing.T) {
	exporter, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	for _, o := range []otelacpterm.Options{
		{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))},
		{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))},
	} {
		m := acptermtest.NewManager(t, &acpterm.Options{MaxTerminals: 1, Policy: acpterm.PolicyFunc(
			func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
				if p.Requested.Args[1] == "pwd" {
					return acpterm.Decision{}
				}
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			})})
		stop, err := otelacpterm.Observe(m, o)
		require.NoError(t, err)
		_, err = create(t, m, request("print", "12345")).Wait(t.Context())
		require.NoError(t, err)
		for _, child := range []string{"pwd", "environ"} {
			_, err = m.Create(t.Context(), request(child), nil)
			require.Error(t, err)
		}
		require.NoError(t, m.Close())
		stop()
	}
	require.Len(t, exporter.GetSpans(), 3)
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	units := make(map[string]string)
	for _, m := range all.ScopeMetrics[0].Metrics {
		require.NotEmpty(t, m.Description)
		units[m.Name] = m.Unit
	}
	require.Equal(t, map[string]string{
		"acpterm.command.running": "{command}", "acpterm.command.started": "{command}", "acpterm.command.denied": "{command}",
		"acpterm.command.failed": "{command}", "acpterm.command.duration": "s", "acpterm.command.output": "By",
	}, units)
}

var errNoInstrument = errors.New("a test's provider makes no instrument")

type noInstruments struct{ noopmetric.MeterProvider }

type noInstrumentsMeter struct{ noopmetric.Meter }

func (noInstruments) Meter(string, ...metric.MeterOption) metric.Meter { return noInstrumentsMeter{} }

func (noInstrumentsMeter) Float64Histogram(
	string, ...metric.Float64HistogramOption,
) (metric.Float64Histogram, error) {
	return noopmetric.Float64Histogram{}, errNoInstrument
}

func TestAProviderThatFails(t *testing.T) {
	m := acptermtest.NewManager(t, nil)
	stop, err := otelacpterm.Observe(m, otelacpterm.Options{MeterProvider: noInstruments{}})
	require.ErrorIs(t, err, errNoInstrument)
	stop()
}

// allocations returns the number of allocations of a create, its end and its release. It may be too high by chance,
// since the runtime allocates, too.
func allocations(t *testing.T, observe func(m *acpterm.Manager)) float64 {
	m, err := acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{"x": acptermtest.Print("x", 0)}})
	require.NoError(t, err)
	defer m.Close()
	observe(m)
	return testing.AllocsPerRun(50, func() {
		terminal := create(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
		<-terminal.Done()
		require.NoError(t, m.Release(t.Context(), "s", terminal.ID()))
	})
}

func TestNothingIsAllocatedWithoutAProvider(t *testing.T) {
	without, with, hooked := math.Inf(1), math.Inf(1), math.Inf(1)
	for round := 0; round < 5 || with != without && round < 100; round++ { // the minimum has none of the runtime's
		without = min(without, allocations(t, func(*acpterm.Manager) {}))
		with = min(with, allocations(t, func(m *acpterm.Manager) {
			stop, err := otelacpterm.Observe(m, otelacpterm.Options{Arguments: true})
			require.NoError(t, err)
			stop()
			stop, err = otelacpterm.Observe(m, otelacpterm.Options{})
			require.NoError(t, err)
			t.Cleanup(stop)
		}))
		hooked = min(hooked, allocations(t, func(m *acpterm.Manager) { m.Observe(func(acpterm.Event) {}) }))
	}
	require.Equal(t, without, with)
	require.Greater(t, hooked, without, "a hook would have been seen")
}
