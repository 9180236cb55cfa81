package otelacpterm_test

// Tests of spans of real commands: one for each decided command, with its end, below the agent's span.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	otelacpterm "github.com/acpterm/acpterm/otel"
	"github.com/acpterm/acpterm/policy"
)

const (
	traceID     = "80e1afed08e019fc1110464cfa66635c"
	spanID      = "7a085853722dc6d2"
	traceParent = "00-" + traceID + "-" + spanID + "-01"
)

func TestSpanOfACommand(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 4}})
	seen := observe(t, m, otelacpterm.Options{})
	before := time.Now()
	terminal := create(t, m, request("print", "12345", "67"))
	_, err := terminal.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Close())

	span, info := seen.span(), terminal.Info()
	require.Equal(t, filepath.Base(terminal.Command().Path), span.Name)
	require.Equal(t, trace.SpanKindClient, span.SpanKind)
	require.False(t, span.Parent.IsValid())
	require.Equal(t, "https://opentelemetry.io/schemas/1.43.0", span.InstrumentationScope.SchemaURL)
	require.Equal(t, sdktrace.Status{}, span.Status)
	require.Equal(t, map[string]any{
		"process.executable.name": span.Name, "process.pid": int64(info.PID), "process.exit.code": int64(0),
		"acpterm.terminal.id": string(terminal.ID()), "acpterm.session.id": "s", "acpterm.verdict": "allow",
		"acpterm.ended_by": "finished", "acpterm.output.bytes": int64(7), "acpterm.output.dropped": int64(3),
	}, attributes(span.Attributes))
	require.False(t, span.StartTime.Before(before))
	require.True(t, span.EndTime.Equal(info.Ended))
	took := span.EndTime.Sub(span.StartTime) // by the monotonic clock; exporters use the other one
	require.InDelta(t, took, span.EndTime.Round(0).Sub(span.StartTime.Round(0)), float64(time.Millisecond))
	require.Equal(t, []string{"acpterm.decided", "acpterm.started"}, eventNames(span))
	require.True(t, span.Events[1].Time.Equal(info.Started))
	for name, value := range map[string]int64{"started": 1, "running": 0, "duration": 1, "output": 7} {
		require.Equal(t, map[string]int64{"": value}, seen.points("acpterm.command."+name), "without attributes of the agent")
	}
	waited := attributes(span.Events[1].Attributes)["acpterm.queue.duration"]
	require.Equal(t, info.Started.Sub(span.StartTime).Seconds(), waited)
}

// A span is named by the name that the program was found with, whether or not a policy resolves symbolic links: sh is
// dash on Debian, and busybox on Alpine.
func TestSpanNames(t *testing.T) {
	dir := t.TempDir()
	tool := request("exit", "0")
	require.NoError(t, os.Symlink(tool.Command, filepath.Join(dir, "tool.exe")))
	tool.Command = filepath.Join(dir, "tool.exe")
	line := acpterm.CreateTerminalRequest{SessionID: "s", Command: "exit 0"}
	shell := "sh"
	if runtime.GOOS == "windows" {
		shell = "cmd.exe"
	}
	for name, policy := range map[string]acpterm.Policy{
		"without a policy": nil,
		"with a policy": acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
			return acpterm.Decision{Verdict: acpterm.VerdictAllow}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			m := acptermtest.NewManager(t, &acpterm.Options{Policy: policy})
			seen := observe(t, m, otelacpterm.Options{})
			for _, req := range []acpterm.CreateTerminalRequest{tool, line} {
				_, err := create(t, m, req).Wait(t.Context())
				require.NoError(t, err)
			}
			require.NoError(t, m.Close())
			var names []string
			for _, span := range seen.spans() {
				require.Equal(t, span.Name, attributes(span.Attributes)["process.executable.name"])
				names = append(names, span.Name)
			}
			require.ElementsMatch(t, []string{"tool.exe", shell}, names)
		})
	}
}

// eventNames returns the names of a span's events, and checks that they are in the order of their times.
func eventNames(span tracetest.SpanStub) (names []string) {
	at := span.StartTime
	for _, e := range span.Events {
		if e.Time.Before(at) || e.Time.After(span.EndTime) {
			names = append(names, "too early or late: ")
		}
		names, at = append(names, e.Name), e.Time
	}
	return names
}

// The end of a command that fails is in the span's status and error.type, and in the same error.type of the duration metric.
func TestSpansOfAllEnds(t *testing.T) {
	noGrace := []acpterm.EscalationStep{}
	for name, end := range map[string]struct {
		child  []string
		own    acpterm.CommandOptions
		end    func(m *acpterm.Manager, terminal *acpterm.Terminal) error
		failed string // error.type
		code   any
	}{
		"exit code 3": {child: []string{"exit", "3"}, failed: "exit_code", code: int64(3)},
		"killed": {child: []string{"sleep"}, failed: "killed",
			end: func(_ *acpterm.Manager, terminal *acpterm.Terminal) error { return terminal.Kill(context.Background()) }},
		"released": {child: []string{"sleep"}, failed: "released",
			end: func(m *acpterm.Manager, terminal *acpterm.Terminal) error {
				return m.Release(context.Background(), "s", terminal.ID())
			}},
		"timeout": {child: []string{"sleep"}, failed: "timed_out", own: acpterm.CommandOptions{
			Timeout: time.Millisecond,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m := acptermtest.NewManager(t, &acpterm.Options{Commands: acpterm.CommandOptions{Escalation: noGrace}})
			seen := observe(t, m, otelacpterm.Options{})
			terminal, err := m.Create(t.Context(), request(end.child[0], end.child[1:]...), &end.own)
			require.NoError(t, err)
			if end.end != nil {
				require.NoError(t, end.end(m, terminal))
			}
			status, err := terminal.Wait(t.Context())
			require.NoError(t, err)
			require.NoError(t, m.Close())

			span := seen.span()
			all := attributes(span.Attributes)
			require.Equal(t, string(terminal.EndedBy()), all["acpterm.ended_by"])
			if status.Signal != nil {
				require.Equal(t, *status.Signal, all["acpterm.signal"])
				require.NotContains(t, all, "process.exit.code")
			} else if end.code != nil {
				require.Equal(t, end.code, all["process.exit.code"])
			}
			requireFailure(t, seen, span, end.failed)
		})
	}
}

// requireFailure checks the only span and the duration metric.
func requireFailure(t testing.TB, seen *telemetry, span tracetest.SpanStub, failed string) {
	t.Helper()
	all := attributes(span.Attributes)
	require.Equal(t, sdktrace.Status{Code: codes.Error}, span.Status)
	require.Equal(t, failed, all["error.type"])
	require.Equal(t, map[string]int64{"error.type=" + failed: 1}, seen.points("acpterm.command.duration"))
}

// A Runner can report signals of any name, and lose a command or its exit. error.type still has few values.
func TestSpansOfARunnersEnds(t *testing.T) {
	for failed, script := range map[string]acptermtest.Script{
		"connection_lost": func(p *acptermtest.Process) int {
			p.LoseConnection()
			<-t.Context().Done() // signals do not reach it
			return 0
		},
		"SIGSEGV":   func(p *acptermtest.Process) int { return 1 },
		"signal":    func(p *acptermtest.Process) int { return 1 },
		"exit_lost": func(p *acptermtest.Process) int { return 1 },
	} {
		t.Run(failed, func(t *testing.T) {
			var runner acpterm.Runner = acptermtest.Commands{"x": script}
			switch failed {
			case "SIGSEGV":
				runner = endsBy{runner, acpterm.TerminalExitStatus{Signal: new("SIGSEGV")}, nil}
			case "signal":
				runner = endsBy{runner, acpterm.TerminalExitStatus{Signal: new("SIG\xff" + strings.Repeat("X", 99))}, nil}
			case "exit_lost":
				runner = endsBy{runner, acpterm.TerminalExitStatus{}, &acpterm.Error{Kind: acpterm.ErrExitLost}}
			}
			m, err := acpterm.NewManager(&acpterm.Options{Runner: runner})
			require.NoError(t, err)
			seen := observe(t, m, otelacpterm.Options{})
			terminal := create(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
			<-terminal.Done()
			require.Equal(t, failed == "connection_lost", m.Close() != nil)
			requireFailure(t, seen, seen.span(), failed)
		})
	}
}

// endsBy is a Runner whose commands end with a fixed result.
type endsBy struct {
	acpterm.Runner
	status acpterm.TerminalExitStatus
	err    error
}

type endedProcess struct {
	acpterm.Process
	endsBy
}

func (r endsBy) Start(ctx context.Context, start acpterm.StartRequest) (acpterm.Process, error) {
	process, err := r.Runner.Start(ctx, start)
	return endedProcess{process, r}, err
}

func (p endedProcess) Wait() (acpterm.TerminalExitStatus, error) {
	p.Process.Wait()
	return p.status, p.err
}

// A denied command, and an allowed command that fails to start, has a failed span and no process.
func TestSpansOfCommandsThatDoNotRun(t *testing.T) {
	policy := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		switch p.Requested.Args[1] {
		case "exit":
			return acpterm.Decision{Rule: "no-exit", Reason: "the reason"}
		case "pwd":
			panic("a test's policy panics")
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "others"}
	})
	m := acptermtest.NewManager(t, &acpterm.Options{Policy: policy, MaxTerminals: 1})
	seen := observe(t, m, otelacpterm.Options{})
	for _, req := range []acpterm.CreateTerminalRequest{request("exit", "0"), request("pwd")} {
		_, err := m.Create(t.Context(), req, nil)
		require.Error(t, err)
	}
	create(t, m, request("sleep"))
	_, err := m.Create(t.Context(), request("print", "x"), nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
	_, err = m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "no-such-program"}, nil)
	require.ErrorIs(t, err, acpterm.ErrCommandNotFound)
	require.NoError(t, m.Close())

	spans := seen.spans()
	require.Len(t, spans, 4, "what is not found is not decided about")
	for i, want := range []struct{ verdict, rule, failed string }{
		{"deny", "no-exit", "denied"}, {"deny", "", "internal"}, {"allow", "others", "released"}, {"allow", "others", "quota"},
	} {
		all := attributes(spans[i].Attributes)
		require.Equal(t, sdktrace.Status{Code: codes.Error}, spans[i].Status)
		require.Equal(t, want.verdict, all["acpterm.verdict"])
		require.Equal(t, want.failed, all["error.type"])
		if want.rule != "" {
			require.Equal(t, want.rule, all["acpterm.rule"])
		}
		if want.failed != "released" {
			require.Equal(t, []string{"acpterm.decided"}, eventNames(spans[i]))
			require.NotContains(t, all, "process.pid")
			require.NotContains(t, all, "process.exit.code")
			require.NotContains(t, all, "acpterm.ended_by")
		}
	}
	require.Equal(t, map[string]int64{"acpterm.rule=no-exit,error.type=denied": 1, "acpterm.rule=,error.type=internal": 1},
		seen.points("acpterm.command.denied"))
	require.Equal(t, map[string]int64{"error.type=quota": 1}, seen.points("acpterm.command.failed"))
	require.Equal(t, map[string]int64{"": 1}, seen.points("acpterm.command.started"))
}

// The traceparent, tracestate and baggage of a create become the parent, also for a denied command. Only malformed
// values are ignored.
func TestParent(t *testing.T) {
	policy := acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
		if p.Requested.Args[1] == "pwd" {
			return acpterm.Decision{}
		}
		return acpterm.Decision{Verdict: acpterm.VerdictAllow}
	})
	for name, create := range map[string]struct {
		child                 string
		parent, state, member string
		remote                string
		wantState, wantMember string
	}{
		"all":                  {"exit", traceParent, "a=1,b=2", "user=x", spanID, "a=1,b=2", "x"},
		"denied":               {"pwd", traceParent, "", "", spanID, "", ""},
		"without flag":         {"exit", strings.TrimSuffix(traceParent, "01") + "00", "", "", "", "", ""},
		"malformed":            {"exit", traceParent + "-x", "a=1", "user=x", "", "", "x"},
		"malformed tracestate": {"exit", traceParent, "a=1,A", "user=x", spanID, "", "x"},
		"malformed baggage":    {"exit", traceParent, "a=1", "user=x y,b=2", spanID, "a=1", ""},
		"none":                 {"exit", "", "", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := acptermtest.NewManager(t, &acpterm.Options{Policy: policy})
			parents := new(startedSpans)
			seen := observe(t, m, otelacpterm.Options{}, sdktrace.WithSpanProcessor(parents))
			req := request(create.child, "0")
			req.Meta = acpterm.Meta{}
			for key, text := range map[string]string{
				"traceparent": create.parent, "tracestate": create.state, "baggage": create.member,
			} {
				if text != "" {
					req.Meta[key], _ = json.Marshal(text)
				}
			}
			terminal, err := m.Create(t.Context(), req, nil)
			require.Equal(t, create.child == "pwd", err != nil)
			if err == nil {
				_, err = terminal.Wait(t.Context())
				require.NoError(t, err)
			}
			require.NoError(t, m.Close())
			require.Len(t, parents.contexts, min(1, len(seen.spans())))
			if name == "without flag" { // the default sampler follows the agent
				require.Empty(t, seen.spans())
				return
			}
			span := seen.span()
			require.Equal(t, create.remote != "", span.Parent.IsValid())
			if create.remote != "" {
				require.True(t, span.Parent.IsRemote())
				require.Equal(t, create.remote, span.Parent.SpanID().String())
				require.Equal(t, traceID, span.SpanContext.TraceID().String())
			}
			require.Equal(t, create.wantState, span.SpanContext.TraceState().String())
			require.Equal(t, create.wantMember, baggage.FromContext(parents.contexts[0]).Member("user").Value())
		})
	}
}

// startedSpans is a span processor that keeps the contexts of recorded spans.
type startedSpans struct{ contexts []context.Context }

func (s *startedSpans) OnStart(ctx context.Context, _ sdktrace.ReadWriteSpan) {
	s.contexts = append(s.contexts, ctx)
}
func (*startedSpans) OnEnd(sdktrace.ReadOnlySpan)      {}
func (*startedSpans) Shutdown(context.Context) error   { return nil }
func (*startedSpans) ForceFlush(context.Context) error { return nil }

// The times are those of the events, not of the hook: the create arrives, one second later the question is asked, three
// seconds later it is answered, and the command runs for a minute.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allow := acpterm.ApprovalSession
		var approvals policy.Approvals
		m := acptermtest.NewManager(t, &acpterm.Options{
			Runner: acptermtest.Commands{"x": func(p *acptermtest.Process) int { p.Sleep(time.Minute); return 0 }},
			Policy: approvals.Policy(acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) acpterm.Decision {
				time.Sleep(time.Second)
				return acpterm.Decision{Verdict: acpterm.VerdictAsk, Rule: "ask"}
			})),
			Approve: approvals.Approve(func(context.Context, acpterm.Question) acpterm.Answer {
				time.Sleep(3 * time.Second)
				return acpterm.Answer{Approval: allow, By: "a person"}
			}), // before this module's hook
		})
		m.Observe(func(acpterm.Event) { time.Sleep(time.Second) })
		seen := observe(t, m, otelacpterm.Options{})
		begin := time.Now()
		for range 2 { // the answer is remembered
			terminal := create(t, m, acpterm.CreateTerminalRequest{SessionID: "s", Command: "x"})
			_, err := terminal.Wait(t.Context())
			require.NoError(t, err)
		}
		allow = acpterm.ApprovalRejectOnce
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "other", Command: "x"}, nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
		require.NoError(t, m.Close())

		spans := seen.spans()
		require.Len(t, spans, 3)
		require.Equal(t, "allow_session 0s asked 1s answered 4s[acpterm.approval.duration 3] decided 4s "+
			"started 4s[acpterm.queue.duration 1] ended 1m4s", times(spans[0], begin))
		require.Equal(t, "allow_session 1m4s decided 1m5s started 1m5s[acpterm.queue.duration 1] ended 2m5s",
			times(spans[1], begin))
		require.Equal(t, "reject_once 2m5s asked 2m6s answered 2m9s[acpterm.approval.duration 3] decided 2m9s ended 2m9s",
			times(spans[2], begin))
		for _, span := range spans {
			require.NotContains(t, fmt.Sprint(span), "a person")
		}
	})
}

// times returns a span's approval, start, events and end as text.
func times(span tracetest.SpanStub, begin time.Time) string {
	text := fmt.Sprint(attributes(span.Attributes)["acpterm.approval"], " ", span.StartTime.Sub(begin))
	for _, e := range span.Events {
		text += fmt.Sprint(" ", strings.TrimPrefix(e.Name, "acpterm."), " ", e.Time.Sub(begin))
		for key, value := range attributes(e.Attributes) {
			text += fmt.Sprintf("[%s %v]", key, value)
		}
	}
	return text + fmt.Sprint(" ended ", span.EndTime.Sub(begin))
}

// Spans and metrics contain no secrets: neither values of variables nor output, and arguments only if requested.
func TestArgumentsOnlyWhenAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		m := acptermtest.NewManager(t, &acpterm.Options{
			Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
				if p.Requested.Args[1] == "exit" {
					return acpterm.Decision{Rule: "r"}
				}
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			}),
		})
		seen := observe(t, m, otelacpterm.Options{Arguments: asked})
		req := request("print", "an-argument", "the-output")
		req.Env = []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret-value"}}
		terminal := create(t, m, req)
		_, err := terminal.Wait(t.Context())
		require.NoError(t, err)
		_, err = m.Create(t.Context(), request("exit", "an-argument"), nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
		require.NoError(t, m.Close())
		for i, span := range seen.spans() {
			all, err := json.Marshal(struct {
				Attributes any
				Events     []sdktrace.Event
				Status     sdktrace.Status
			}{attributes(span.Attributes), span.Events, span.Status})
			require.NoError(t, err)
			require.NotContains(t, string(all), "secret-value")
			require.Equal(t, asked, strings.Contains(string(all), "an-argument"), string(all))
			require.Equal(t, asked && i == 1, strings.Contains(span.Status.Description, `(rule "r")`))
		}
		if asked {
			require.Equal(t, children.Args("print", "an-argument", "the-output"),
				attributes(seen.spans()[0].Attributes)["process.command_args"])
		}
	}
}

// Exporters refuse a batch with invalid UTF-8. Names of programs may have any bytes, and paths of other systems have
// other separators.
func TestNamesOfPrograms(t *testing.T) {
	runner := acptermtest.Commands{"*": acptermtest.Print("", 0)}
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: runner})
	seen := observe(t, m, otelacpterm.Options{Arguments: true})
	for _, path := range []string{"/bin/a\xffb", `C:\bin\c.exe`, "d"} {
		req := acpterm.CreateTerminalRequest{SessionID: "s", Command: path, Args: []string{"\xfe"}}
		_, err := create(t, m, req).Wait(t.Context())
		require.NoError(t, err)
	}
	require.NoError(t, m.Close())
	var names []string
	for _, span := range seen.spans() {
		names = append(names, span.Name)
		require.Equal(t, "\ufffd", attributes(span.Attributes)["process.command_args"].([]string)[1])
	}
	require.Equal(t, []string{"a\ufffdb", "c.exe", "d"}, names)
}

// An agent's own terminal has no span and is not counted.
func TestCommandsOfTheAgentAreNotObserved(t *testing.T) {
	m := acptermtest.NewManager(t, nil)
	seen := observe(t, m, otelacpterm.Options{})
	running := create(t, m, request("sleep"))
	ready(t, running)
	h := acpterm.NewHandler(m, nil)
	terminals := agentterm.New(h, nil)
	for _, update := range []string{`"command":"x"`, `"exitStatus":{"exitCode":9}`} {
		terminals.Update(json.RawMessage(fmt.Sprintf(
			`{"sessionId":"other","update":{"sessionUpdate":"terminal_update","terminalId":"own",%s}}`, update)))
	}
	own, err := m.Terminal("other", "own")
	require.NoError(t, err)
	<-own.Done()
	require.NoError(t, m.Release(t.Context(), "other", own.ID()))
	require.NoError(t, running.Kill(t.Context()))
	require.NoError(t, h.Close())
	require.NoError(t, m.Close())
	require.Equal(t, "killed", attributes(seen.span().Attributes)["acpterm.ended_by"])
	require.Equal(t, map[string]int64{"": 1}, seen.points("acpterm.command.started"))
	require.Equal(t, map[string]int64{"": 0}, seen.points("acpterm.command.running"))
}
