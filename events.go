package acpterm

// Events. Options.Record gets each decision before its command runs. All events go to the hooks through a queue
// (internal/notify), so that no terminal waits for a hook.

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/acpterm/acpterm/internal/hook"
	"github.com/acpterm/acpterm/internal/notify"
)

// An Event is passed to Options.Record and to the hooks of Manager.Observe. It is a *DecisionEvent, *StartEvent,
// *EndEvent, *SurvivorsEvent or *ReleaseEvent or, for a PTY, an *InputEvent or *ResizeEvent. A command's events come in
// this order, except that a SurvivorsEvent may precede the EndEvent, and those of a PTY come at any time after the
// StartEvent.
type Event interface{ subject() *Subject }

func (s *Subject) subject() *Subject { return s }

// Subject identifies the terminal of an event, and its command as it ran.
type Subject struct {
	TerminalID TerminalID
	SessionID  SessionID
	// Path, Args, Dir and ShellLine are the fields of Command. No event contains the value of a variable.
	Path      string
	Args      []string
	Dir       string
	ShellLine string
	// PID is the PID of the command, the leader of its session, or 0 if it did not run on the local machine.
	PID int
	// Attached indicates that the terminal was created by Handler.Attach, so no policy has decided about its command.
	Attached bool
	// Meta is the create's _meta, as chosen by the agent. Package tracecontext reads a trace from it. It must not be
	// modified.
	Meta Meta
}

// DecisionEvent reports a decision on a command. It is sent once for each create whose command could be resolved.
type DecisionEvent struct {
	Subject
	// Name is Proposal.Name. If a policy was asked, Path has no symbolic links.
	Name string
	// Requested is the time when Create was called, and Time the time of the decision.
	Requested, Time time.Time
	// Asked and Answered are the times when Options.Approve was called and when it answered, or zero.
	Asked, Answered time.Time
	// Verdict is VerdictAllow or VerdictDeny. It is VerdictAllow if no policy is set.
	Verdict Verdict
	// Rule and Reason are copied from the Decision.
	Rule, Reason string
	// Approval is the answer's Approval as a string, and Approver its By. The answer may be a remembered one. They are
	// empty if no question was asked.
	Approval, Approver string
	// Variables lists the names of the environment variables set by the request.
	Variables []string
	// Err is the create's error if the command was denied, or if the create ended before a decision was made.
	Err error
}

// StartEvent reports that a command has started.
type StartEvent struct {
	Subject
	Time time.Time
	// Terminal is the terminal. It can still be read after it has been released.
	Terminal *Terminal
}

// EndEvent reports that a command has ended. It is sent exactly once for each allowed command, even if its create
// failed or was cancelled after the decision. If the command ends during a kill, a release or a timeout, the event is
// sent after that has finished.
type EndEvent struct {
	Subject
	Started, Ended time.Time
	// Status is the exit status, or nil if the end was not observed.
	Status  *TerminalExitStatus
	EndedBy EndedBy
	// Bytes is the number of bytes written up to then, and Dropped the number of those beyond the limit of
	// terminal/output.
	Bytes, Dropped int64
	// Survivors lists the PIDs of the processes still running in the tree.
	Survivors []int
	// CPUTime and PeakMemory are the CPU time and the maximum resident memory, in bytes, of the command's process and
	// the children it has waited for. They are only set on Linux.
	CPUTime    time.Duration
	PeakMemory int64
	// Err is the reason why an allowed command did not run, or nil. If it is not nil, only Subject and Ended are set.
	Err error
}

// SurvivorsEvent reports processes still running after a kill, a release, a timeout or a Close. The calls also return
// an error of kind ErrSurvivors, whereas a timeout is only reported by this event.
type SurvivorsEvent struct {
	Subject
	Time      time.Time
	Survivors []int
}

// ReleaseEvent reports that a release is complete, with the process tree gone or given up. It is sent once for each
// started command, unless the host ends first.
type ReleaseEvent struct {
	Subject
	Time time.Time
	// Err is the error of the release, such as one of kind ErrSurvivors, or nil.
	Err error
}

// InputEvent reports a call to Terminal.Write. It does not contain the bytes, since they may be a password.
type InputEvent struct {
	Subject
	Time time.Time
	// Bytes is the number of bytes written.
	Bytes int
}

// ResizeEvent reports a call to Terminal.Resize.
type ResizeEvent struct {
	Subject
	Time time.Time
	Size TerminalSize
}

// Bounds on the events that wait for the hooks.
const (
	maxEvents     = 10_000
	maxEventBytes = 64 << 20
)

// events records events and passes them to the hooks. Its methods are safe for concurrent use.
type events struct {
	notify.Queue[queuedEvent]

	// record is Options.Record. Its context for events in the queue is recording, which cancelRecording ends.
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

// observe adds a hook. stop removes it, and returns when the hook has returned for the last time.
func (e *events) observe(hook func(Event)) (stop func()) {
	return e.Observe(func(q queuedEvent) { callHook("Observe", func() { hook(q.Event) }) })
}

// recordDecision records a decision, if Options.Record is set, and queues its event. It returns refused if that is an
// error; otherwise the error of recording, or ErrCancelled if ctx is done.
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

// callRecord calls record. It logs an error and returns it as ErrInternal, or as ErrCancelled if ctx is done.
func (e *events) callRecord(ctx context.Context, event Event) error {
	var err error
	if panicked := callHook("Record", func() { err = e.record(ctx, event) }); panicked != nil {
		return panicked
	}
	if err == nil {
		return nil
	}
	slog.Error("acpterm: an event cannot be recorded", "event", fmt.Sprintf("%T", event), "error", err)
	if ctx.Err() != nil {
		return &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
	}
	return &Error{Kind: ErrInternal, Reason: "the decision cannot be recorded", Err: err}
}

// emit queues an event.
func (e *events) emit(event Event) { e.Add(queuedEvent{Event: event}, sizeOf(event)) }

// full returns an error if too many events wait for the hooks. A create then fails; it does not wait, so that a hook
// may create terminals.
func (e *events) full(maxOutput int64) error {
	n, waiting := e.Waiting()
	for _, quota := range []struct {
		name           string
		waiting, limit int64
	}{
		{"events", int64(n), maxEvents},
		{"event_bytes", waiting.Bytes, maxEventBytes},
		{"output_bytes", waiting.Output, maxOutput},
	} {
		if quota.waiting >= quota.limit {
			return &Error{Kind: ErrQuota, Quota: quota.name, Limit: quota.limit,
				Reason: "too many events wait for the host's hooks"}
		}
	}
	return nil
}

// sizeOf estimates the memory of an event. Memory shared by several events counts for each.
func sizeOf(event Event) notify.Size {
	const fields = 256 // of the event itself
	s := event.subject()
	texts := append([]string{string(s.SessionID), s.Path, s.Dir, s.ShellLine}, s.Args...)
	var size notify.Size
	switch e := event.(type) {
	case *DecisionEvent:
		texts = append(append(texts, e.Name, e.Rule, e.Reason, e.Approval, e.Approver), e.Variables...)
	case *StartEvent:
		size.Output = e.Terminal.store.room()
	}
	size.Bytes = fields + s.Meta.size()
	for _, text := range texts {
		size.Bytes += int64(len(text)) + 16 // its header
	}
	return size
}

// callHook calls a function of the embedder. It logs a panic and returns it as an *Error of kind ErrInternal.
func callHook(name string, f func()) error {
	if err := hook.Call(name, f); err != nil {
		return &Error{Kind: ErrInternal, Reason: err.Error()}
	}
	return nil
}
