package embedtest

// Events for the record: one for each end, in order, whatever the hook itself does, with the times of a decision and the
// trace of its request.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/acpterm/acpterm/internal/longtest"
	"github.com/acpterm/acpterm/tracecontext"
)

func TestAnEventForEachEnd(t *testing.T) {
	hook, events := hosttest.Record()
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}, OutputByteLimit: 4},
	}, hook)

	term := hosttest.Create(t, m, hosttest.ChildRequest("print", "12345", "67"))
	e := hosttest.Ended(t, events)
	require.Equal(t, term.ID(), e.TerminalID)
	require.Equal(t, acpterm.SessionID("s"), e.SessionID)
	require.Equal(t, term.Command().Path, e.Path)
	require.Equal(t, term.Command().Args, e.Args)
	require.Equal(t, term.Command().Dir, e.Dir)
	require.Positive(t, e.PID)
	require.Equal(t, acpterm.EndedByItself, e.EndedBy)
	require.EqualValues(t, 0, *e.Status.ExitCode)
	require.EqualValues(t, 7, e.Bytes)
	require.EqualValues(t, 3, e.Dropped)
	require.Empty(t, e.Survivors)
	info := term.Info()
	started, end := info.Started, info.Ended
	require.Equal(t, []time.Time{started, end}, []time.Time{e.Started, e.Ended})

	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	require.NoError(t, m.Close())
	require.Len(t, events, 4, "Close has returned before the hook had the last of two releases")
	require.Equal(t, acpterm.EndedByRelease, hosttest.Ended(t, events).EndedBy)
}

// A hook that does not return blocks no terminal, and one that panics loses only its own event.
func TestASlowOrPanickingHookHarmsNothing(t *testing.T) {
	begin, events := make(chan struct{}), make(chan acpterm.Event, 100)
	first := true
	m := hosttest.NewManager(t, nil, func(e acpterm.Event) {
		<-begin
		if _, ok := e.(*acpterm.EndEvent); !ok {
			return
		}
		if first {
			first = false
			panic("a test's hook panics")
		}
		events <- e
	})
	var ids []acpterm.TerminalID
	for range 3 {
		term := hosttest.Finish(t, m, hosttest.ChildRequest("print", "x"))
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		ids = append(ids, term.ID())
	}
	close(begin)
	require.NoError(t, m.Close())
	require.Equal(t, ids[1], hosttest.Ended(t, events).TerminalID)
	require.Equal(t, ids[2], hosttest.Ended(t, events).TerminalID)
}

// The record of a day is lines of JSON without the values of variables.
func TestLogEvents(t *testing.T) {
	var log bytes.Buffer
	m := hosttest.NewManager(t, &acpterm.Options{
		Commands: acpterm.CommandOptions{Escalation: []acpterm.EscalationStep{}},
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.Command.Args[2] == "sleep" {
				return acpterm.Decision{Verdict: acpterm.VerdictAllow, Rule: "sleepers"}
			}
			return acpterm.Decision{Rule: "others", Reason: "only sleepers"}
		}),
	}, audit.LogEvents(slog.New(slog.NewJSONHandler(&log, nil))))
	req := hosttest.ChildRequest("sleep")
	req.Env = []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret-value"}}
	term := hosttest.CreateReady(t, m, req)
	require.NoError(t, term.Kill(t.Context()))
	_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	require.NoError(t, m.Close())
	require.NotContains(t, log.String(), "secret-value")
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 3)
	var records [3]map[string]any
	for i, line := range lines {
		require.NoError(t, json.Unmarshal([]byte(line), &records[i]))
		require.Equal(t, "s", records[i]["session"])
		require.NotEmpty(t, records[i]["args"])
		require.NotEmpty(t, records[i]["path"])
		require.NotEmpty(t, records[i]["dir"])
	}
	allowed, ended, denied := records[0], records[1], records[2]
	require.Equal(t, []any{"decision", "allow", "sleepers", []any{"TOKEN"}},
		[]any{allowed["msg"], allowed["verdict"], allowed["rule"], allowed["variables"]})
	require.Equal(t, []any{"end", "killed", "SIGKILL", string(term.ID())},
		[]any{ended["msg"], ended["endedBy"], ended["signal"], ended["terminal"]})
	require.EqualValues(t, len("ready\n"), ended["bytes"])
	require.Equal(t, []any{"decision", "WARN", "deny", "others", "only sleepers"},
		[]any{denied["msg"], denied["level"], denied["verdict"], denied["rule"], denied["reason"]})
	if runtime.GOOS == "linux" {
		require.Positive(t, ended["peakMemory"])
		require.Positive(t, ended["cpuSeconds"])
	}
}

// heldHook returns a hook that does not return from its first event, or any later one, until free is called.
func heldHook() (hook func(acpterm.Event), called <-chan struct{}, free func()) {
	once, entered, released := new(sync.Once), make(chan struct{}), make(chan struct{})
	hook = func(acpterm.Event) {
		once.Do(func() { close(entered) })
		<-released
	}
	return hook, entered, sync.OnceFunc(func() { close(released) })
}

// overQuota requires an error that names a full quota of events.
func overQuota(t *testing.T, err error, quota string, limit int64) {
	t.Helper()
	require.ErrorIs(t, err, acpterm.ErrQuota)
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, quota, e.Quota)
	require.Equal(t, limit, e.Limit)
}

var denyAll = acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) (deny acpterm.Decision) { return deny })

// Creates fail while 10,000 events wait for the hook, and succeed again once it has caught up.
func TestEventsAreBoundedInNumber(t *testing.T) {
	hook, called, free := heldHook()
	m := hosttest.NewManager(t, &acpterm.Options{Policy: denyAll}, hook)
	defer free()
	for i := range 10_001 { // one that the hook has, and as many as may wait
		_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
		require.ErrorIs(t, err, acpterm.ErrDenied)
		if i == 0 {
			<-called
		}
	}
	_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
	overQuota(t, err, "events", 10_000)
	free()
	for errors.Is(err, acpterm.ErrQuota) { // the hook is catching up
		_, err = m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
	}
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

// A thousand denied commands, each with a megabyte of arguments, stay within the memory limit while a hook does not
// return.
func TestEventsAreBoundedInBytes(t *testing.T) {
	hook, called, free := heldHook()
	m := hosttest.NewManager(t, &acpterm.Options{Policy: denyAll}, hook)
	defer free()
	_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
	<-called
	before := leaktest.HeapInUse()
	denied := 0
	for range longtest.Times(200, 1000) {
		_, err = m.Create(t.Context(), hosttest.ChildRequest("print", strings.Repeat("x", 1<<20)), nil)
		if errors.Is(err, acpterm.ErrDenied) {
			denied++
		}
	}
	overQuota(t, err, "event_bytes", 64<<20)
	require.InDelta(t, 64, denied, 1)
	require.Less(t, leaktest.HeapInUse()-before, int64(160<<20))
}

// The output of released terminals, kept by StartEvents that wait for the hook, is limited like the output of
// terminals.
func TestEventsAreBoundedInOutput(t *testing.T) {
	hook, called, free := heldHook()
	m := hosttest.NewManager(t, &acpterm.Options{
		MaxReservedBytes: 10 << 20,
		Runner:           acptermtest.Commands{"x": acptermtest.Print("", 0)},
	}, hook)
	defer free()
	var err error
	for err == nil {
		var term *acpterm.Terminal
		term, err = m.Create(t.Context(), hosttest.CommandRequest("x"), nil)
		if err == nil {
			<-called
			require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		}
	}
	overQuota(t, err, "reserved_bytes", 10<<20)
}

// A command whose create was cancelled after the start has one end, which is its real end.
func TestOneEndOfACancelledCreate(t *testing.T) {
	var c hosttest.Ends
	ctx, cancel := context.WithCancel(t.Context())
	blocking := acptermtest.Commands{"x": acptermtest.Block}
	start := func(ctx context.Context, l acpterm.StartRequest) (acpterm.Process, error) {
		defer cancel()
		return blocking.Start(ctx, l)
	}
	m := hosttest.NewManager(t, &acpterm.Options{Runner: runnerStub{start: start}}, c.Hook)
	_, err := m.Create(ctx, hosttest.CommandRequest("x"), nil)
	require.ErrorIs(t, err, acpterm.ErrCancelled)
	require.NoError(t, m.Close())
	end := c.OneEach(t)[0]
	require.NoError(t, end.Err)
	require.NotZero(t, end.Started)
	require.Equal(t, acpterm.EndedByRelease, end.EndedBy)
	require.NotNil(t, end.Status)
}

// Creates are cancelled at any moment: each allowed command has one end, whether it ran or not.
func TestOneEndOfEach(t *testing.T) {
	var c hosttest.Ends
	m := hosttest.NewManager(t, nil, c.Hook)
	var creates sync.WaitGroup
	for i := range 200 {
		creates.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(i)*50*time.Microsecond, cancel)
			m.Create(ctx, hosttest.ChildRequest("sleep"), nil)
		})
		if i%8 == 7 {
			creates.Wait()
		}
	}
	creates.Wait()
	require.NoError(t, m.Close())
	for _, end := range c.OneEach(t) {
		require.Equal(t, end.Err == nil, end.PID > 0)
		require.Equal(t, end.Err == nil, !end.Started.IsZero())
	}
}

// An observer is called from its registration to its removal, with each command's events in order.
func TestObserve(t *testing.T) {
	lives := make(map[acpterm.TerminalID][]string)
	hook := func(e acpterm.Event) {
		id := reflect.ValueOf(e).Elem().FieldByName("TerminalID").Interface().(acpterm.TerminalID)
		lives[id] = append(lives[id], fmt.Sprintf("%T", e))
	}
	m := hosttest.NewManager(t, nil, hook)
	one := hosttest.Create(t, m, hosttest.ChildRequest("print", "x"))
	one.Wait(t.Context())

	var started *acpterm.StartEvent
	var seen []string
	ended := make(chan struct{})
	stop := m.Observe(func(e acpterm.Event) {
		switch e := e.(type) {
		case *acpterm.StartEvent:
			if e.TerminalID != one.ID() {
				started = e
				seen = append(seen, "start")
			}
		case *acpterm.EndEvent:
			if e.TerminalID != one.ID() {
				seen = append(seen, "end")
				close(ended)
			}
		}
	})
	two := hosttest.Create(t, m, hosttest.ChildRequest("print", "y"))
	<-ended
	stop()
	stop()
	three := hosttest.Create(t, m, hosttest.ChildRequest("print", "z"))
	three.Wait(t.Context())
	require.NoError(t, m.Close())

	require.Equal(t, []string{"start", "end"}, seen)
	for _, term := range []*acpterm.Terminal{one, two, three} {
		require.Equal(t, []string{"*acpterm.DecisionEvent", "*acpterm.StartEvent", "*acpterm.EndEvent", "*acpterm.ReleaseEvent"}, lives[term.ID()])
	}
	require.Same(t, two, started.Terminal)
	require.Equal(t, two.ID(), started.TerminalID)
	require.Positive(t, started.PID)
	at := two.Info().Started
	require.Equal(t, at, started.Time)
}

// Once stop has returned, the observer is not running and is not called again.
func TestStopOfAnObserver(t *testing.T) {
	m := hosttest.NewManager(t, nil)
	called, free := make(chan struct{}), make(chan struct{})
	over := false
	stop := m.Observe(func(e acpterm.Event) {
		if _, ok := e.(*acpterm.DecisionEvent); !ok {
			return
		}
		close(called)
		<-free
		over = true
	})
	hosttest.Create(t, m, hosttest.ChildRequest("print", "x"))
	<-called
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	close(free)
	<-stopped
	require.True(t, over)
}

const (
	testTraceID = "80e1afed08e019fc1110464cfa66635c"
	testSpanID  = "7a085853722dc6d2"
	testParent  = "00-" + testTraceID + "-" + testSpanID + "-01"
)

// metaOf returns a _meta with these texts: key, text, key, text.
func metaOf(pairs ...string) acpterm.Meta {
	meta := make(acpterm.Meta)
	for i := 0; i < len(pairs); i += 2 {
		meta[pairs[i]], _ = json.Marshal(pairs[i+1])
	}
	return meta
}

// Events and records of a command have its trace. Its decision has the times of the create, the question and the
// answer.
func TestEventsHaveTheTraceAndTheTimes(t *testing.T) {
	var log bytes.Buffer
	hook, events := hosttest.Record()
	logged := audit.LogEvents(slog.New(slog.NewJSONHandler(&log, nil)))
	allow := acpterm.ApprovalAllowOnce
	m := hosttest.NewManager(t, &acpterm.Options{
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.Requested.Args[1] == "print" {
				return acpterm.Decision{Verdict: acpterm.VerdictAllow}
			}
			return acpterm.Decision{Verdict: acpterm.VerdictAsk}
		}),
		Approve: func(context.Context, acpterm.Question) acpterm.Answer { return acpterm.Answer{Approval: allow} },
	}, func(e acpterm.Event) { logged(e); hook(e) })
	a := hosttest.Connect(t, m, nil)
	create := func(meta acpterm.Meta, child ...string) (decision *acpterm.DecisionEvent) {
		req := hosttest.ChildRequest(child[0], child[1:]...)
		req.Meta = meta
		result, err := a.Do(acpterm.MethodCreate, req)
		if err == nil {
			var created acpterm.CreateTerminalResponse
			require.NoError(t, json.Unmarshal(result, &created))
			a.MustDo(acpterm.MethodRelease, hosttest.Of(created.TerminalID))
		}
		decision = (<-events).(*acpterm.DecisionEvent)
		require.False(t, decision.Requested.IsZero())
		require.False(t, decision.Time.Before(decision.Requested))
		return decision
	}
	next := func() acpterm.Event { return <-events }

	asked := create(metaOf("traceparent", testParent, "tracestate", "a=1", "baggage", "b=2"), "exit", "0")
	trace := &tracecontext.Context{Parent: testParent}
	require.Equal(t, trace, tracecontext.Read(asked.Meta))
	require.Equal(t, trace, tracecontext.Read(next().(*acpterm.EndEvent).Meta))
	require.Equal(t, trace, tracecontext.Read(next().(*acpterm.ReleaseEvent).Meta))
	require.False(t, asked.Asked.Before(asked.Requested))
	require.False(t, asked.Answered.Before(asked.Asked))
	require.False(t, asked.Time.Before(asked.Answered))

	allowed := create(metaOf("traceparent", "00-no", "tracestate", "a=1"), "print", "x")
	require.Nil(t, tracecontext.Read(allowed.Meta))
	require.Zero(t, allowed.Asked)
	require.Zero(t, allowed.Answered)
	next()
	next()

	allow = acpterm.ApprovalRejectOnce
	denied := create(metaOf("traceparent", testParent), "exit", "0")
	require.Equal(t, acpterm.VerdictDeny, denied.Verdict)
	require.Equal(t, testTraceID, tracecontext.Read(denied.Meta).TraceID())
	require.False(t, denied.Answered.IsZero())

	require.NoError(t, m.Close())
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 5)
	for i, traced := range []bool{true, true, false, false, true} {
		ids := `"trace_id":"` + testTraceID + `","span_id":"` + testSpanID + `"`
		require.Equal(t, traced, strings.Contains(lines[i], ids), lines[i])
		require.Equal(t, traced, strings.Contains(lines[i], "trace_id"), lines[i])
	}
}

// The end of an allowed command that did not start has a time.
func TestTheEndOfACommandThatDidNotStartHasATime(t *testing.T) {
	hook, events := hosttest.Record()
	m := hosttest.NewManager(t, &acpterm.Options{MaxTerminals: 1}, hook)
	hosttest.Create(t, m, hosttest.ChildRequest("sleep"))
	decision := (<-events).(*acpterm.DecisionEvent)
	_, err := m.Create(t.Context(), hosttest.ChildRequest("exit", "0"), nil)
	require.ErrorIs(t, err, acpterm.ErrQuota)
	<-events
	end := (<-events).(*acpterm.EndEvent)
	require.ErrorIs(t, end.Err, acpterm.ErrQuota)
	require.False(t, end.Ended.Before(decision.Time))
}
