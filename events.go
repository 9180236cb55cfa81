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

// An Event describes something that happened to a command. It is passed to Options.Record and to the hooks added with
// Manager.Observe, and is a *DecisionEvent, *StartEvent, *EndEvent, *SurvivorsEvent, *GoneEvent, *ReleaseEvent,
// *InputEvent, *ResizeEvent or *BackgroundEvent. The events for a command are sent in this order, except that a
// SurvivorsEvent may precede the EndEvent, and the last three are sent at any time after the StartEvent.
type Event interface{ subject() *Subject }

func (s *Subject) subject() *Subject { return s }

// Subject identifies the terminal and the command that an event refers to.
type Subject struct {
	TerminalID TerminalID
	SessionID  SessionID
	// Path, Args, Dir and ShellLine are copied from the Command. Events never include the values of Command.Env.
	Path      string
	Args      []string
	Dir       string
	ShellLine string
	// PID is the command's PID on the machine it runs on, or 0 if unknown. A local command is also a session leader.
	PID int
	// Attached reports whether the terminal was created by Handler.Attach. If so, no policy was consulted.
	Attached bool
	// Meta is the _meta object of the create request. Note that it is supplied by the agent and may contain anything.
	// For example, package tracecontext can read a trace context from it. Callers must not modify it.
	Meta Meta
}

// DecisionEvent records whether a command was allowed to run. It is sent once for every command that could be resolved.
type DecisionEvent struct {
	Subject
	// Name is Proposal.Name. If a policy was consulted, Path may end differently because symbolic links were resolved.
	Name string
	// Requested is the time Create was called, and Time is the time the decision was made.
	Requested, Time time.Time
	// Asked and Answered are the times Options.Approve was called and returned. Both are zero if it was not called.
	Asked, Answered time.Time
	// Verdict is either VerdictAllow or VerdictDeny. If no policy is set, all commands are allowed.
	Verdict Verdict
	// Rule and Reason are copied from the Decision.
	Rule, Reason string
	// Approval and Approver are copied from the Answer, which may have been remembered from an earlier question. Both
	// are empty if the policies did not ask for approval.
	Approval, Approver string
	// Variables lists the names of environment variables set by the request.
	Variables []string
	// Err is the reason the command was denied, or the reason Create failed before a decision was made, if any.
	Err error
}

// StartEvent is sent when a command has started.
type StartEvent struct {
	Subject
	Time time.Time
	// Terminal can be used to read the output, even after the terminal has been released.
	Terminal *Terminal
}

// EndEvent is sent when a command has exited. It is sent exactly once for each allowed command, even if Create failed
// or was cancelled after the decision. If the command exits while its process tree is being terminated, for example by
// Kill, the event is not sent until the termination is complete.
type EndEvent struct {
	Subject
	Started, Ended time.Time
	// Status is the exit status of the command, or nil if it could not be determined.
	Status  *TerminalExitStatus
	EndedBy EndedBy
	// Bytes is the number of bytes written so far, and Dropped is how many of those bytes exceeded the output limit.
	Bytes, Dropped int64
	// Survivors lists the PIDs of any processes still running in the tree.
	Survivors []int
	// CPUTime is the total CPU time, and PeakMemory is the peak resident memory in bytes, used by the process and those
	// of its children that it has waited for. Both fields are only set on Linux.
	CPUTime    time.Duration
	PeakMemory int64
	// Err is the reason an allowed command was not run, if any. In that case, only Subject and Ended are set as well.
	Err error
}

// SurvivorsEvent is sent if processes are, or may be, running after a kill, a release, a timeout or Manager.Close.
// Except for a timeout, the call also returns ErrSurvivors. Survivors and Err are its PIDs and Err; one may be empty.
type SurvivorsEvent struct {
	Subject
	Time      time.Time
	Survivors []int
	Err       error
}

// GoneEvent is sent when the last process of a command's tree has ended, if Terminal.Gone was called before a release
// began. To get the event for each command of an agent, call Gone in HandlerOptions.Created.
type GoneEvent struct {
	Subject
	Time time.Time
}

// ReleaseEvent is sent after a terminal has been released and its process tree has either exited or been abandoned. It
// is sent exactly once for every command that started, unless the host exits first.
type ReleaseEvent struct {
	Subject
	Time time.Time
	// Err is the error that occurred while releasing the terminal, if any. For example, its kind may be ErrSurvivors.
	Err error
}

// InputEvent is sent when Terminal.Write is called. It does not contain the input itself, which may be a password.
type InputEvent struct {
	Subject
	Time time.Time
	// Bytes is the number of bytes written.
	Bytes int
}

// ResizeEvent is sent when Terminal.Resize has changed the size of a PTY.
type ResizeEvent struct {
	Subject
	Time time.Time
	Size TerminalSize
}

// BackgroundEvent is sent when Terminal.MoveToBackground is called for a running command.
type BackgroundEvent struct {
	Subject
	Time time.Time
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
		{"reserved_bytes", waiting.Output, maxOutput},
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

func newDecisionEvent(id TerminalID, p Proposal, d Decision, answer *Answer) *DecisionEvent {
	e := &DecisionEvent{
		Subject: Subject{
			TerminalID: id, SessionID: p.SessionID,
			Path: p.Command.Path, Args: p.Command.Args, Dir: p.Command.Dir, ShellLine: p.Command.ShellLine,
			Meta: p.Requested.Meta,
		},
		Name: p.Name, Time: time.Now(), Verdict: d.Verdict, Rule: d.Rule, Reason: d.Reason,
	}
	if answer != nil {
		e.Approval, e.Approver = answer.Approval.String(), answer.By
	}
	for _, v := range p.Requested.Env {
		e.Variables = append(e.Variables, v.Name)
	}
	return e
}
