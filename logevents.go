package acpterm

// Events as structured records, for an audit file.

import (
	"context"
	"log/slog"
)

// LogEvents returns a hook for Options.Events that writes each event as one structured record, at level Info, or Warn
// for a denial and for survivors: "decision", "end" and "survivors". With slog.NewJSONHandler it is an audit file that
// jq can read. A start has no record of its own: the end's has how long the command ran. slog drops what its handler fails to write; a writer that has to know must look for itself.
func LogEvents(logger *slog.Logger) func(Event) {
	return func(event Event) {
		switch e := event.(type) {
		case *DecisionEvent:
			level := slog.LevelInfo
			attrs := append(e.Subject.attrs(), slog.String("verdict", e.Verdict.String()))
			attrs = appendText(attrs, "rule", e.Rule, "reason", e.Reason, "approval", e.Approval, "approver", e.Approver)
			if len(e.Variables) > 0 {
				attrs = append(attrs, slog.Any("variables", e.Variables))
			}
			if e.Err != nil {
				level = slog.LevelWarn
				attrs = append(attrs, slog.String("error", e.Err.Error()))
			}
			logger.LogAttrs(context.Background(), level, "decision", attrs...)
		case *EndEvent:
			if e.Err != nil {
				logger.LogAttrs(context.Background(), slog.LevelWarn, "end", append(e.Subject.attrs(), slog.String("error", e.Err.Error()))...)
				return
			}
			attrs := append(e.Subject.attrs(), slog.Int("pid", e.PID), slog.String("endedBy", string(e.EndedBy)),
				slog.Float64("seconds", e.Ended.Sub(e.Started).Seconds()), slog.Int64("bytes", e.Bytes),
				slog.Int64("dropped", e.Dropped), slog.Float64("cpuSeconds", e.CPUTime.Seconds()), slog.Int64("peakMemory", e.PeakMemory))
			if e.Status != nil && e.Status.ExitCode != nil {
				attrs = append(attrs, slog.Any("exitCode", *e.Status.ExitCode))
			}
			if e.Status != nil && e.Status.Signal != nil {
				attrs = append(attrs, slog.String("signal", *e.Status.Signal))
			}
			if len(e.Survivors) > 0 {
				attrs = append(attrs, slog.Any("survivors", e.Survivors))
			}
			logger.LogAttrs(context.Background(), slog.LevelInfo, "end", attrs...)
		case *SurvivorsEvent:
			logger.LogAttrs(context.Background(), slog.LevelWarn, "survivors",
				append(e.Subject.attrs(), slog.Int("pid", e.PID), slog.Any("survivors", e.Survivors))...)
		}
	}
}

func (s Subject) attrs() []slog.Attr {
	return appendText([]slog.Attr{
		slog.String("terminal", string(s.TerminalID)), slog.String("session", string(s.SessionID)),
		slog.Any("args", s.Args), slog.String("path", s.Path), slog.String("dir", s.Dir),
	}, "shellLine", s.ShellLine)
}

// appendText appends attributes whose text is not empty: name, text, name, text.
func appendText(attrs []slog.Attr, pairs ...string) []slog.Attr {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			attrs = append(attrs, slog.String(pairs[i], pairs[i+1]))
		}
	}
	return attrs
}
