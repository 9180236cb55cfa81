package otelacpterm

// Metrics. No metric has an attribute whose values an agent chooses.

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/acpterm/acpterm"
)

// instruments are the metrics of all commands.
type instruments struct {
	running  metric.Int64UpDownCounter
	started  metric.Int64Counter
	denied   metric.Int64Counter
	failed   metric.Int64Counter
	duration metric.Float64Histogram
	output   metric.Int64Counter
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	var i instruments
	var errs [6]error
	commands := metric.WithUnit("{command}")
	i.running, errs[0] = meter.Int64UpDownCounter("acpterm.command.running", commands,
		metric.WithDescription("Commands that run."))
	i.started, errs[1] = meter.Int64Counter("acpterm.command.started", commands,
		metric.WithDescription("Commands that were started."))
	i.denied, errs[2] = meter.Int64Counter("acpterm.command.denied", commands,
		metric.WithDescription("Commands that were not allowed to run."))
	i.failed, errs[3] = meter.Int64Counter("acpterm.command.failed", commands,
		metric.WithDescription("Commands that were allowed to run and could not be started."))
	i.duration, errs[4] = meter.Float64Histogram("acpterm.command.duration", metric.WithUnit("s"),
		metric.WithDescription("How long commands ran."),
		metric.WithExplicitBucketBoundaries(.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600))
	i.output, errs[5] = meter.Int64Counter("acpterm.command.output", metric.WithUnit("By"),
		metric.WithDescription("Output of commands that have ended."))
	return &i, errors.Join(errs[:]...)
}

// ended records a command that ran. failure is empty if the command succeeded.
func (i *instruments) ended(ctx context.Context, e *acpterm.EndEvent, failure string) {
	var options []metric.RecordOption
	if failure != "" {
		options = append(options, metric.WithAttributes(errorType(failure)))
	}
	i.duration.Record(ctx, e.Ended.Sub(e.Started).Seconds(), options...)
	i.output.Add(ctx, e.Bytes)
}
