package acpterm_test

// The hook for the record: an event for each end, in order, whatever the hook itself does.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/stretchr/testify/require"
)

// record returns a hook and the channel that it hands events to, but for starts. The channel has room for all that a
// test makes.
func record() (hook func(acpterm.Event), events chan acpterm.Event) {
	events = make(chan acpterm.Event, 100)
	return func(e acpterm.Event) {
		if _, ok := e.(*acpterm.StartEvent); !ok {
			events <- e
		}
	}, events
}

// ended returns the next event, which has to be an end.
func ended(t testing.TB, events chan acpterm.Event) *acpterm.EndEvent {
	t.Helper()
	event := <-events
	if decision, ok := event.(*acpterm.DecisionEvent); ok {
		require.Equal(t, acpterm.Allow, decision.Verdict)
		event = <-events
	}
	require.IsType(t, &acpterm.EndEvent{}, event)
	return event.(*acpterm.EndEvent)
}

func TestAnEventForEachEnd(t *testing.T) {
	hook, events := record()
	m := newManager(t, &acpterm.Options{
		Events: hook, Escalation: []acpterm.EscalationStep{}, OutputByteLimit: 4,
	})

	term := create(t, m, childRequest("print", "12345", "67"))
	e := ended(t, events)
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
	_, started, end := term.Times()
	require.Equal(t, []time.Time{started, end}, []time.Time{e.Started, e.Ended})

	term = create(t, m, childRequest("sleep"))
	require.NoError(t, term.Kill(t.Context()))
	require.Equal(t, acpterm.EndedByKill, ended(t, events).EndedBy)

	term = create(t, m, childRequest("sleep"))
	require.NoError(t, m.Release(t.Context(), "s", term.ID()))
	require.Equal(t, acpterm.EndedByRelease, ended(t, events).EndedBy)

	_, err := m.Create(t.Context(), childRequest("sleep"), acpterm.WithTimeout(time.Millisecond))
	require.NoError(t, err)
	require.Equal(t, acpterm.EndedByTimeout, ended(t, events).EndedBy)

	create(t, m, childRequest("sleep"))
	require.NoError(t, m.Close())
	require.Len(t, events, 2, "Close has returned before the hook had the last event")
	require.Equal(t, acpterm.EndedByClose, ended(t, events).EndedBy)
}

// A hook that does not return holds up no terminal, and one that panics loses its own event alone.
func TestASlowOrPanickingHookHarmsNothing(t *testing.T) {
	begin, events := make(chan struct{}), make(chan acpterm.Event, 100)
	first := true
	m := newManager(t, &acpterm.Options{Events: func(e acpterm.Event) {
		<-begin
		if _, ok := e.(*acpterm.EndEvent); !ok {
			return
		}
		if first {
			first = false
			panic("a test's hook panics")
		}
		events <- e
	}})
	var ids []acpterm.TerminalID
	for range 3 {
		term := create(t, m, childRequest("print", "x"))
		_, err := term.Wait(t.Context())
		require.NoError(t, err)
		require.NoError(t, m.Release(t.Context(), "s", term.ID()))
		ids = append(ids, term.ID())
	}
	close(begin)
	require.NoError(t, m.Close())
	require.Equal(t, ids[1], ended(t, events).TerminalID)
	require.Equal(t, ids[2], ended(t, events).TerminalID)
}

// The record of a day is lines of JSON, with no value of a variable in them.
func TestLogEvents(t *testing.T) {
	var log bytes.Buffer
	m := newManager(t, &acpterm.Options{
		Events:     acpterm.LogEvents(slog.New(slog.NewJSONHandler(&log, nil))),
		Escalation: []acpterm.EscalationStep{},
		Policy: acpterm.PolicyFunc(func(_ context.Context, p acpterm.Proposal) acpterm.Decision {
			if p.Command.Args[2] == "sleep" {
				return acpterm.Decision{Verdict: acpterm.Allow, Rule: "sleepers"}
			}
			return acpterm.Decision{Rule: "others", Reason: "only sleepers"}
		}),
	})
	req := childRequest("sleep")
	req.Env = []acpterm.EnvVariable{{Name: "TOKEN", Value: "secret-value"}}
	term := create(t, m, req)
	awaitOutput(t, term, "ready")
	require.NoError(t, term.Kill(t.Context()))
	_, err := m.Create(t.Context(), childRequest("exit", "0"))
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

// watchedContext says when somebody begins to wait for its end.
type watchedContext struct {
	context.Context
	waitedFor chan struct{}
	once      sync.Once
}

func (c *watchedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.waitedFor) })
	return c.Context.Done()
}

// A create that cannot be put on record waits until it can, or is cancelled.
func TestCreatesWaitForTheRecord(t *testing.T) {
	called, goOn := make(chan struct{}, 20_000), make(chan struct{})
	m := newManager(t, &acpterm.Options{
		Events: func(acpterm.Event) { called <- struct{}{}; <-goOn },
		Policy: acpterm.PolicyFunc(func(context.Context, acpterm.Proposal) (deny acpterm.Decision) { return deny }),
	})
	for i := range 10_001 { // one that the hook has, and as many as may wait
		_, err := m.Create(t.Context(), childRequest("exit", "0"))
		require.ErrorIs(t, err, acpterm.ErrDenied)
		if i == 0 {
			<-called
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched := &watchedContext{Context: ctx, waitedFor: make(chan struct{})}
	done := make(chan error)
	go func() {
		_, err := m.Create(watched, childRequest("exit", "0"))
		done <- err
	}()
	<-watched.waitedFor
	cancel()
	require.ErrorIs(t, <-done, acpterm.ErrCancelled)
	close(goOn)
	_, err := m.Create(t.Context(), childRequest("exit", "0"))
	require.ErrorIs(t, err, acpterm.ErrDenied)
}

// An observer is told from the time that it comes to the time that it leaves, of each command in the order of things.
func TestObserve(t *testing.T) {
	lives := make(map[acpterm.TerminalID][]string)
	hook := func(e acpterm.Event) {
		id := reflect.ValueOf(e).Elem().FieldByName("TerminalID").Interface().(acpterm.TerminalID)
		lives[id] = append(lives[id], fmt.Sprintf("%T", e))
	}
	m := newManager(t, &acpterm.Options{Events: hook})
	one := create(t, m, childRequest("print", "x"))
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
	two := create(t, m, childRequest("print", "y"))
	<-ended
	stop()
	stop()
	three := create(t, m, childRequest("print", "z"))
	three.Wait(t.Context())
	require.NoError(t, m.Close())

	require.Equal(t, []string{"start", "end"}, seen)
	for _, term := range []*acpterm.Terminal{one, two, three} {
		require.Equal(t, []string{"*acpterm.DecisionEvent", "*acpterm.StartEvent", "*acpterm.EndEvent"}, lives[term.ID()])
	}
	require.Same(t, two, started.Terminal)
	require.Equal(t, two.ID(), started.TerminalID)
	require.Positive(t, started.PID)
	_, at, _ := two.Times()
	require.Equal(t, at, started.Time)
}

// Who has stopped observing is not in the middle of it.
func TestStopOfAnObserver(t *testing.T) {
	m := newManager(t, nil)
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
	create(t, m, childRequest("print", "x"))
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
