package audit

// Events as structured records.

import (
	"context"
	"log/slog"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/tracecontext"
)

// LogEvents returns a hook for use with acpterm.Manager.Observe that logs events as structured records: "decision",
// "end", "survivors", "background" if the user has moved a command to the background, and "input", which includes the
// number of bytes typed. Records are logged at level Info, except for denials, survivors, and allowed commands that did
// not run, which are logged at level Warn. Nothing is logged when a command starts, because the record logged when it
// ends includes the duration. If the _meta of the create request contained a valid traceparent, its IDs are logged as
// trace_id and span_id, following the conventions of OpenTelemetry, for all events except input.
//
// Note that a command may already be running when its decision is logged, and that records are lost if slog's handler
// fails to write them. If you need a complete record, use a Log instead.
func LogEvents(logger *slog.Logger) func(acpterm.Event) {
	return func(event acpterm.Event) {
		ctx, handler := context.Background(), logger.Handler()
		if r, ok := eventRecord(event); ok && handler.Enabled(ctx, r.Level) {
			handler.Handle(ctx, r)
		}
	}
}

// eventRecord returns the record of an event, or false if it has none.
func eventRecord(event acpterm.Event) (r slog.Record, ok bool) {
	switch e := event.(type) {
	case *acpterm.DecisionEvent:
		r = slog.NewRecord(e.Time, slog.LevelInfo, "decision", 0)
		r.AddAttrs(subjectAttrs(e.Subject)...)
		r.AddAttrs(slog.String("verdict", e.Verdict.String()))
		r.AddAttrs(appendText(nil, "rule", e.Rule, "reason", e.Reason)...)
		r.AddAttrs(appendText(nil, "approval", e.Approval, "approver", e.Approver)...)
		if len(e.Variables) > 0 {
			r.AddAttrs(slog.Any("variables", e.Variables))
		}
		if e.Err != nil {
			r.Level = slog.LevelWarn
			r.AddAttrs(slog.String("error", e.Err.Error()))
		}
	case *acpterm.BackgroundEvent:
		r = slog.NewRecord(e.Time, slog.LevelInfo, "background", 0)
		r.AddAttrs(subjectAttrs(e.Subject)...)
	case *acpterm.EndEvent:
		if e.Err != nil {
			r = slog.NewRecord(time.Now(), slog.LevelWarn, "end", 0)
			r.AddAttrs(subjectAttrs(e.Subject)...)
			r.AddAttrs(slog.String("error", e.Err.Error()))
			return r, true
		}
		r = slog.NewRecord(e.Ended, slog.LevelInfo, "end", 0)
		r.AddAttrs(subjectAttrs(e.Subject)...)
		r.AddAttrs(slog.Int("pid", e.PID), slog.String("endedBy", string(e.EndedBy)),
			slog.Float64("seconds", e.Ended.Sub(e.Started).Seconds()), slog.Int64("bytes", e.Bytes),
			slog.Int64("dropped", e.Dropped), slog.Float64("cpuSeconds", e.CPUTime.Seconds()),
			slog.Int64("peakMemory", e.PeakMemory))
		if e.Status != nil && e.Status.ExitCode != nil {
			r.AddAttrs(slog.Any("exitCode", *e.Status.ExitCode))
		}
		if e.Status != nil && e.Status.Signal != nil {
			r.AddAttrs(slog.String("signal", *e.Status.Signal))
		}
		if len(e.Survivors) > 0 {
			r.AddAttrs(slog.Any("survivors", e.Survivors))
		}
	case *acpterm.SurvivorsEvent:
		r = slog.NewRecord(e.Time, slog.LevelWarn, "survivors", 0)
		r.AddAttrs(subjectAttrs(e.Subject)...)
		r.AddAttrs(slog.Int("pid", e.PID))
		if len(e.Survivors) > 0 {
			r.AddAttrs(slog.Any("survivors", e.Survivors))
		}
		if e.Err != nil { // other processes may still run
			r.AddAttrs(slog.String("error", e.Err.Error()))
		}
	case *acpterm.InputEvent: // every key may cause one, so it names only the terminal
		r = slog.NewRecord(e.Time, slog.LevelInfo, "input", 0)
		r.AddAttrs(slog.String("terminal", string(e.TerminalID)), slog.String("session", string(e.SessionID)),
			slog.Int("bytes", e.Bytes))
	default:
		return r, false
	}
	return r, true
}

func subjectAttrs(s acpterm.Subject) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("terminal", string(s.TerminalID)), slog.String("session", string(s.SessionID)),
		slog.Any("args", s.Args), slog.String("path", s.Path), slog.String("dir", s.Dir),
	}
	if s.Attached { // no policy decided on it
		attrs = append(attrs, slog.Bool("ofAgent", true))
	}
	attrs = appendText(attrs, "shellLine", s.ShellLine)
	trace := tracecontext.Read(s.Meta)
	return appendText(attrs, "trace_id", trace.TraceID(), "span_id", trace.SpanID())
}

// appendText appends the attributes whose text is not empty. pairs are alternately names and texts.
func appendText(attrs []slog.Attr, pairs ...string) []slog.Attr {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			attrs = append(attrs, slog.String(pairs[i], pairs[i+1]))
		}
	}
	return attrs
}
