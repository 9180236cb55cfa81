package acpterm

// Events, and the queue by which hooks get them. A decision is put on record, by Options.Record, before its command
// runs; everything else goes through the queue, which no terminal waits for.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Event is what Options.Record, Options.Events and Manager.Observe get: a *DecisionEvent, *StartEvent, *EndEvent or
// *SurvivorsEvent. Those of one command come in this order, except that a SurvivorsEvent may come before the EndEvent.
type Event interface{ event() }

func (*DecisionEvent) event()  {}
func (*StartEvent) event()     {}
func (*EndEvent) event()       {}
func (*SurvivorsEvent) event() {}

// Subject is the terminal that an event is about, and its command as it ran.
type Subject struct {
	TerminalID TerminalID
	SessionID  SessionID
	// Path, Args, Dir and ShellLine are the fields of Command. An event has nothing of its environment.
	Path      string
	Args      []string
	Dir       string
	ShellLine string
	// PID is the process that the command ran as, and the leader of its session; 0 of one that did not run.
	PID int
}

// DecisionEvent is a decision on a command: there is one for each create that names a command which could be run.
type DecisionEvent struct {
	Subject
	Time time.Time
	// Verdict is the outcome: Allow or Deny. Without a policy everything is allowed.
	Verdict Verdict
	// Rule and Reason are those of the Decision.
	Rule, Reason string
	// Approval is the answer to the question, given now or remembered: "once", "session", "always", "no", "never";
	// empty if no question was asked. Approver is the answer's By.
	Approval, Approver string
	// Variables are the names of those that the agent set.
	Variables []string
	// Err is the error of a denial, or why there was no decision, such as a cancel.
	Err error
}

// StartEvent is a command that runs.
type StartEvent struct {
	Subject
	Time time.Time
	// Terminal is the terminal itself. It can be read after its release, too.
	Terminal *Terminal
}

// EndEvent is a command's end. There is exactly one for each command that was allowed, also when its create failed or
// was cancelled after the decision. If its tree was being ended at that moment, by a kill for instance, the event comes
// when that is complete.
type EndEvent struct {
	Subject
	Started, Ended time.Time
	// Status is how it ended; nil if that could not be seen.
	Status  *TerminalExitStatus
	EndedBy EndedBy
	// Bytes is how much output there was by then, Dropped how much of it is not in terminal/output any more.
	Bytes, Dropped int64
	// Survivors are the processes of its tree that still run after it was ended.
	Survivors []int
	// CPUTime and PeakMemory are what the command's process used, and those of its children that it waited for: the
	// time of processors, and the most bytes of memory that one of them held. 0 where the system does not tell: so far
	// it does on Linux.
	CPUTime    time.Duration
	PeakMemory int64
	// Err is why a command that was allowed did not run; nothing else is set then but the Subject. Nil if it ran.
	Err error
}

// SurvivorsEvent reports that processes of a tree still run after a kill, a release, a timeout or a Close. The calls
// return an error that says the same; for a timeout there is this event alone.
type SurvivorsEvent struct {
	Subject
	Time      time.Time
	Survivors []int
}

// observer is a hook for events. Its address is its identity.
type observer struct{ hook func(Event) }

// What may wait for the hooks before creates fail.
const (
	maxEvents     = 10_000
	maxEventBytes = 64 << 20
)

// events is the queue of events and the hooks that it serves. Its methods may be called concurrently. Only wait, and
// the stop of an observer, block.
type events struct {
	// record is Options.Record; nil: none. Its context for events in the queue is recording, which cancelRecording
	// ends.
	record          func(context.Context, Event) error
	recording       context.Context
	cancelRecording context.CancelFunc

	mu      sync.Mutex
	hooks   []*observer   // replaced, never changed
	called  chan struct{} // closed when the hooks have returned from the current event; nil between events
	queue   []queuedEvent
	waiting eventSize     // of all in queue
	drained chan struct{} // closed when the queue is empty; nil when it is
}

// queuedEvent is an event that waits for the hooks.
type queuedEvent struct {
	Event
	size     eventSize
	recorded bool // record has been called with it
}

// eventSize is what an event keeps in memory: bytes of its own, and the output of the terminal that it points to.
type eventSize struct{ bytes, output int64 }

func (e *events) open(record func(context.Context, Event) error) {
	e.record = record
	e.recording, e.cancelRecording = context.WithCancel(context.Background())
}

// observe adds a hook. What it returns removes it, and returns when the hook is not running and will not be called.
func (e *events) observe(hook func(Event)) (stop func()) {
	o := &observer{hook}
	e.mu.Lock()
	e.hooks = append(slices.Clone(e.hooks), o)
	e.mu.Unlock()
	return func() {
		e.mu.Lock()
		e.hooks = slices.DeleteFunc(slices.Clone(e.hooks), func(other *observer) bool { return other == o })
		called := e.called
		e.mu.Unlock()
		if called != nil {
			<-called
		}
	}
}

// heard reports whether events are of use to anyone.
func (e *events) heard() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heardLocked()
}

func (e *events) heardLocked() bool { return e.record != nil || len(e.hooks) > 0 }

// decide puts a decision on record, and returns why the command must not run: refused, which is the decision's own
// error, or that it is not on record. A decision that was cancelled is recorded from the queue.
func (e *events) decide(ctx context.Context, d *DecisionEvent, refused error) error {
	err, recorded := refused, e.record != nil && ctx.Err() == nil
	switch {
	case recorded:
		if failure := e.callRecord(ctx, d); failure != nil && refused == nil {
			err = failure
		}
	case ctx.Err() != nil && refused == nil: // nothing runs whose decision is not on record
		err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	e.add(d, recorded)
	if err != nil && refused == nil {
		e.emit(&EndEvent{Subject: d.Subject, Err: err})
	}
	return err
}

// callRecord calls record and logs its error, which is returned as ErrInternal, or ErrCancelled when ctx has ended.
func (e *events) callRecord(ctx context.Context, event Event) error {
	var err error
	if panicked := callHook("Record", func() { err = e.record(ctx, event) }); panicked != nil {
		return panicked
	}
	if err == nil {
		return nil
	}
	slog.Error("acpterm: an event cannot be put on record", "event", fmt.Sprintf("%T", event), "error", err)
	if ctx.Err() != nil {
		return &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	return &Error{Kind: ErrInternal, Reason: "the decision cannot be put on record", Err: err}
}

// emit queues an event.
func (e *events) emit(event Event) { e.add(event, false) }

// add queues an event. The goroutine that calls the hooks exists only while events wait.
func (e *events) add(event Event, recorded bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.heardLocked() {
		return
	}
	q := queuedEvent{event, sizeOf(event), recorded}
	e.queue = append(e.queue, q)
	e.waiting.bytes += q.size.bytes
	e.waiting.output += q.size.output
	if e.drained == nil {
		e.drained = make(chan struct{})
		go e.deliver()
	}
}

// deliver is the goroutine that calls the hooks.
func (e *events) deliver() {
	for {
		e.mu.Lock()
		if len(e.queue) == 0 {
			close(e.drained)
			e.drained, e.queue = nil, nil
			e.mu.Unlock()
			return
		}
		q := e.queue[0]
		e.queue[0] = queuedEvent{} // the array keeps it no longer
		e.queue = e.queue[1:]
		e.waiting.bytes -= q.size.bytes
		e.waiting.output -= q.size.output
		hooks, called := e.hooks, make(chan struct{})
		e.called = called
		e.mu.Unlock()
		if e.record != nil && !q.recorded {
			e.callRecord(e.recording, q.Event)
		}
		for _, o := range hooks {
			callHook("Events", func() { o.hook(q.Event) })
		}
		e.mu.Lock()
		e.called = nil
		e.mu.Unlock()
		close(called)
	}
}

// wait returns when the hooks have returned from the last event.
func (e *events) wait() {
	e.mu.Lock()
	drained := e.drained
	e.mu.Unlock()
	if drained != nil {
		<-drained
	}
}

// full is why nothing can be decided now: the hooks are so slow that more events wait than may. It is an error and not
// a wait, so that a hook may create terminals itself.
func (e *events) full(maxOutput int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, quota := range []struct {
		name           Quota
		waiting, limit int64
	}{
		{QuotaEvents, int64(len(e.queue)), maxEvents},
		{QuotaEventBytes, e.waiting.bytes, maxEventBytes},
		{QuotaOutputBytes, e.waiting.output, maxOutput},
	} {
		if quota.waiting >= quota.limit {
			return &Error{
				Kind: ErrQuota, Quota: quota.name, Limit: quota.limit, Reason: "the host is behind with its events",
			}
		}
	}
	return nil
}

// sizeOf is what an event keeps in memory, roughly. What it shares with other events counts for each.
func sizeOf(event Event) eventSize {
	switch e := event.(type) {
	case *DecisionEvent:
		decided := stringsSize(e.Rule, e.Reason, e.Approval, e.Approver) + stringsSize(e.Variables...)
		return eventSize{bytes: e.Subject.size() + decided}
	case *StartEvent:
		return eventSize{bytes: e.Subject.size(), output: e.Terminal.ring.room()}
	case *EndEvent:
		return eventSize{bytes: e.Subject.size()}
	case *SurvivorsEvent:
		return eventSize{bytes: e.Subject.size()}
	}
	return eventSize{}
}

func (s Subject) size() int64 {
	const fields = 256 // of the event itself
	return fields + stringsSize(s.Args...) + stringsSize(string(s.SessionID), s.Path, s.Dir, s.ShellLine)
}

// stringsSize is what strings keep in memory.
func stringsSize(texts ...string) (size int64) {
	const header = 16
	for _, text := range texts {
		size += header + int64(len(text))
	}
	return size
}
