package acpterm

// Events, and calls of the embedder's functions, which may panic. A decision is put on record, by Options.Record,
// before its command runs; everything else goes to the hooks through a queue (internal/notify), which no terminal waits
// for.

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/acpterm/acpterm/internal/hook"
	"github.com/acpterm/acpterm/internal/notify"
)

// Event is what Options.Record and Manager.Observe get: a *DecisionEvent, *StartEvent, *EndEvent,
// *SurvivorsEvent or *ReleaseEvent, and of a PTY *InputEvent and *ResizeEvent. Those of one command come in this order,
// except that a SurvivorsEvent may come before the EndEvent, and those of a PTY at any time after the StartEvent.
type Event interface{ event() }

func (*DecisionEvent) event()  {}
func (*StartEvent) event()     {}
func (*EndEvent) event()       {}
func (*SurvivorsEvent) event() {}
func (*ReleaseEvent) event()   {}
func (*InputEvent) event()     {}
func (*ResizeEvent) event()    {}

// Subject is the terminal that an event is about, and its command as it ran.
type Subject struct {
	TerminalID TerminalID
	SessionID  SessionID
	// Path, Args, Dir and ShellLine are the fields of Command. No event has the value of a variable.
	Path      string
	Args      []string
	Dir       string
	ShellLine string
	// PID is the process that the command ran as, and the leader of its session; 0 of one that did not run here.
	PID int
	// Attached says that the terminal was made by Handler.Attach. No policy has decided about its command.
	Attached bool
	// Meta is the _meta of the create, which the agent chose; the package tracecontext reads a trace from it. It must
	// not be changed.
	Meta Meta
}

// DecisionEvent is a decision on a command: there is one for each create that names a command which could be run.
type DecisionEvent struct {
	Subject
	// Name is Proposal.Name. With a policy, links in Path were followed.
	Name string
	// Requested is when the create came, Time when it was decided.
	Requested, Time time.Time
	// Asked is when Options.Approve was called, and Answered when its answer was given; zero if that was not.
	Asked, Answered time.Time
	// Verdict is the outcome: VerdictAllow or VerdictDeny. Without a policy everything is allowed.
	Verdict Verdict
	// Rule and Reason are those of the Decision.
	Rule, Reason string
	// Approval is the answer to the question, given now or remembered, as the String of its Approval; empty if no
	// question was asked. Approver is the answer's By.
	Approval, Approver string
	// Variables are the names of the environment variables that the request sets.
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
// was cancelled after the decision. If its tree is being ended then, by a kill for instance, the event comes when
// that is complete.
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
	// time of processors, and the most bytes of memory that one of them held. Known on Linux
	// only; 0 elsewhere.
	CPUTime    time.Duration
	PeakMemory int64
	// Err is why a command that was allowed did not run; nothing else is set then but the Subject and Ended. Nil if it
	// ran.
	Err error
}

// SurvivorsEvent reports that processes of a tree still run after a kill, a release, a timeout or a Close. The calls
// return an error that says the same; for a timeout there is this event alone.
type SurvivorsEvent struct {
	Subject
	Time      time.Time
	Survivors []int
}

// ReleaseEvent reports that a release is complete: the terminal's tree is gone, or was given up. There is one for each
// command that was started, unless the host ends before.
type ReleaseEvent struct {
	Subject
	Time time.Time
	// Err is the error of the release, such as one of kind ErrSurvivors; nil if nothing of the tree is left.
	Err error
}

// InputEvent reports a Terminal.Write. What was written is not in it: it may be a password.
type InputEvent struct {
	Subject
	Time time.Time
	// Bytes is how many bytes were written.
	Bytes int
}

// ResizeEvent reports a Terminal.Resize.
type ResizeEvent struct {
	Subject
	Time time.Time
	Size TerminalSize
}

// What may wait for the hooks before creates fail.
const (
	maxEvents     = 10_000
	maxEventBytes = 64 << 20
)

// events puts events on record and hands them to the embedder's hooks. Its methods may be called concurrently.
type events struct {
	notify.Queue[queuedEvent]

	// record is Options.Record; nil: none. Its context for events in the queue is recording, which cancelRecording
	// ends.
	record          func(context.Context, Event) error
	recording       context.Context
	cancelRecording context.CancelFunc
}

// queuedEvent is an event that waits for the hooks.
type queuedEvent struct {
	Event
	recorded bool // record has been called with it
}

func (e *events) open(o *Options) {
	e.record = o.Record
	e.recording, e.cancelRecording = context.WithCancel(context.Background())
	if o.Record != nil {
		e.Observe(func(q queuedEvent) {
			if !q.recorded {
				e.callRecord(e.recording, q.Event)
			}
		})
	}
}

// observe adds a hook. stop removes it, and returns when it is not running and will not be called.
func (e *events) observe(hook func(Event)) (stop func()) {
	return e.Observe(func(q queuedEvent) { callHook("Observe", func() { hook(q.Event) }) })
}

// recordDecision records a decision, if Options.Record is set, and queues its event. It returns why the command must
// not run: refused, a failure to record, or ErrCancelled when ctx has ended.
func (e *events) recordDecision(ctx context.Context, d *DecisionEvent, refused error) error {
	err, recorded := refused, e.record != nil && ctx.Err() == nil
	switch {
	case recorded:
		if failure := e.callRecord(ctx, d); failure != nil && refused == nil {
			err = failure
		}
	case ctx.Err() != nil && refused == nil: // nothing runs whose decision is not on record
		err = &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	e.Add(queuedEvent{d, recorded}, sizeOf(d))
	if err != nil && refused == nil {
		e.emit(&EndEvent{Subject: d.Subject, Ended: time.Now(), Err: err})
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
func (e *events) emit(event Event) { e.Add(queuedEvent{Event: event}, sizeOf(event)) }

// full returns the error for a create while too many events wait for the hooks, nil otherwise. A create fails and does
// not wait, so that a hook may create terminals itself.
func (e *events) full(maxOutput int64) error {
	n, waiting := e.Waiting()
	for _, quota := range []struct {
		name           Quota
		waiting, limit int64
	}{
		{QuotaEvents, int64(n), maxEvents},
		{QuotaEventBytes, waiting.Bytes, maxEventBytes},
		{QuotaOutputBytes, waiting.Output, maxOutput},
	} {
		if quota.waiting >= quota.limit {
			return &Error{Kind: ErrQuota, Quota: quota.name, Limit: quota.limit,
				Reason: "too many events wait for the host's hooks"}
		}
	}
	return nil
}

// sizeOf is what an event keeps in memory, roughly. What it shares with other events counts for each.
func sizeOf(event Event) notify.Size {
	switch e := event.(type) {
	case *DecisionEvent:
		decided := stringsSize(e.Name, e.Rule, e.Reason, e.Approval, e.Approver) + stringsSize(e.Variables...)
		return notify.Size{Bytes: e.Subject.size() + decided}
	case *StartEvent:
		return notify.Size{Bytes: e.Subject.size(), Output: e.Terminal.room()}
	case *EndEvent:
		return notify.Size{Bytes: e.Subject.size()}
	case *SurvivorsEvent:
		return notify.Size{Bytes: e.Subject.size()}
	case *ReleaseEvent:
		return notify.Size{Bytes: e.Subject.size()}
	case *InputEvent:
		return notify.Size{Bytes: e.Subject.size()}
	case *ResizeEvent:
		return notify.Size{Bytes: e.Subject.size()}
	}
	return notify.Size{}
}

func (s Subject) size() int64 {
	const fields = 256 // of the event itself
	texts := stringsSize(string(s.SessionID), s.Path, s.Dir, s.ShellLine)
	return fields + stringsSize(s.Args...) + texts + s.Meta.size()
}

// stringsSize is what strings keep in memory.
func stringsSize(texts ...string) (size int64) {
	const header = 16
	for _, text := range texts {
		size += header + int64(len(text))
	}
	return size
}

// callHook calls a function of the embedder's, by name. If it panics, callHook logs that and returns an *Error of kind
// ErrInternal.
func callHook(name string, f func()) error {
	if err := hook.Call(name, f); err != nil {
		return &Error{Kind: ErrInternal, Reason: err.Error()}
	}
	return nil
}
