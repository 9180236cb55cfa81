package acpterm

// What a manager tells its embedder for the record: values that hold all there is to say, handed to hooks, one after
// another. Nothing waits for the hooks but the end of the manager.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Event is what Options.Events and Manager.Observe are told of: *DecisionEvent, *StartEvent, *EndEvent or
// *SurvivorsEvent. Those of one command come in this order, but that an ending's survivors may come before the end.
type Event interface{ event() }

func (*DecisionEvent) event()  {}
func (*StartEvent) event()     {}
func (*EndEvent) event()       {}
func (*SurvivorsEvent) event() {}

// Subject is the terminal that an event is about, and its command as it ran.
type Subject struct {
	TerminalID TerminalID
	SessionID  SessionID
	// Path, Args, Dir and ShellLine are the fields of Command. Of its environment nothing is told.
	Path      string
	Args      []string
	Dir       string
	ShellLine string
	// PID is the process that the command ran as, and the leader of its session; 0 of one that did not run.
	PID int
}

// DecisionEvent is a decision on a command: there is one for each create that names a command which could be run. The
// event comes before the command's end does.
type DecisionEvent struct {
	Subject
	Time time.Time
	// Verdict is the outcome: Allow or Deny. Without a policy everything is allowed.
	Verdict Verdict
	// Rule and Reason are those of the Decision.
	Rule, Reason string
	// Approval is how somebody answered who was asked, now or for another command like it: "once", "session", "always",
	// "no", "never"; empty if nobody was. Approver is the answer's By.
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
	// Terminal is the terminal itself. Whoever holds it can read it after its release, too.
	Terminal *Terminal
}

// EndEvent is a command's end. There is one for every command that was allowed. If something was ending its tree at
// that moment, such as a kill, the event comes when that is through.
type EndEvent struct {
	Subject
	Started, Ended time.Time
	// Status is how it ended; nil if that could not be seen.
	Status  *TerminalExitStatus
	EndedBy EndedBy
	// Bytes is how much output there was by then, Dropped how much of it is not in terminal/output any more.
	Bytes, Dropped int64
	// Survivors are the processes of its tree that withstood what ended it.
	Survivors []int
	// CPUTime and PeakMemory are what the command's process used, and those of its children that it waited for: the
	// time of processors, and the most bytes of memory that one of them held. 0 where the system does not tell: so far
	// it does on Linux.
	CPUTime    time.Duration
	PeakMemory int64
	// Err is why a command that was allowed did not run: then nothing else is set but the Subject.
	Err error
}

// SurvivorsEvent is an ending, by a kill or a release or whatever else, that left processes of a tree running. Who
// asked for it got an error that says the same; a timeout has nobody to tell.
type SurvivorsEvent struct {
	Subject
	Time      time.Time
	Survivors []int
}

// observer is a hook that is told of events, by its identity.
type observer struct{ hook func(Event) }

// events is the queue before the hooks. Its methods may be called concurrently; only wait, room and the stop of an
// observer wait.
type events struct {
	mu      sync.Mutex
	hooks   []*observer   // replaced, never changed
	told    chan struct{} // closed when the hooks have been told of an event; nil while they are told of none
	queue   []Event
	drained chan struct{} // closed when the queue is empty; nil when it is
	shrunk  chan struct{} // closed when it is shorter; nil when nobody waits for that
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
		told := e.told
		e.mu.Unlock()
		if told != nil {
			<-told
		}
	}
}

// heard reports whether there is a hook.
func (e *events) heard() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.hooks) > 0
}

// emit hands an event to the hooks' goroutine, which there is only while events wait.
func (e *events) emit(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.hooks) == 0 {
		return
	}
	e.queue = append(e.queue, event)
	if e.drained == nil {
		e.drained = make(chan struct{})
		go e.deliver()
	}
}

// deliver is the hooks' goroutine.
func (e *events) deliver() {
	for {
		e.mu.Lock()
		if len(e.queue) == 0 {
			close(e.drained)
			e.drained, e.queue = nil, nil
			e.mu.Unlock()
			return
		}
		event := e.queue[0]
		e.queue = e.queue[1:]
		if e.shrunk != nil {
			close(e.shrunk)
			e.shrunk = nil
		}
		hooks, told := e.hooks, make(chan struct{})
		e.told = told
		e.mu.Unlock()
		for _, o := range hooks {
			o.call(event)
		}
		e.mu.Lock()
		e.told = nil
		e.mu.Unlock()
		close(told)
	}
}

// call calls the hook. A hook that panics has lost this event and nothing else.
func (o *observer) call(event Event) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("acpterm: the hook for events panicked", "event", fmt.Sprintf("%T", event), "panic", panicked)
		}
	}()
	o.hook(event)
}

// wait returns when the hooks have had every event.
func (e *events) wait() {
	e.mu.Lock()
	drained := e.drained
	e.mu.Unlock()
	if drained != nil {
		<-drained
	}
}

// maxEvents is how many events wait for a hook that is slow before creates wait for it too: a command that is not on
// record does not run.
const maxEvents = 10_000

// room returns when the hook has kept up, or fails when ctx ends.
func (e *events) room(ctx context.Context) error {
	for {
		e.mu.Lock()
		if len(e.queue) < maxEvents {
			e.mu.Unlock()
			return nil
		}
		if e.shrunk == nil {
			e.shrunk = make(chan struct{})
		}
		shrunk := e.shrunk
		e.mu.Unlock()
		select {
		case <-shrunk:
		case <-ctx.Done():
			return &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
	}
}
