package acpterm

// What a manager tells its embedder for the record: values that hold all there is to say, handed to one hook, one after
// another. Nothing waits for the hook but the end of the manager.

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Event is what Options.Events is told of: *EndEvent or *SurvivorsEvent.
type Event interface{ event() }

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
	// PID is the process that the command ran as, and the leader of its session.
	PID int
}

// EndEvent is a command's end. There is one for every command that was started. If something was ending its tree at
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
}

// SurvivorsEvent is an ending, by a kill or a release or whatever else, that left processes of a tree running. Who
// asked for it got an error that says the same; a timeout has nobody to tell.
type SurvivorsEvent struct {
	Subject
	Time      time.Time
	Survivors []int
}

// events is the queue before the hook. Its methods may be called concurrently, and none but wait waits.
type events struct {
	hook func(Event) // nil: nobody listens

	mu      sync.Mutex
	queue   []Event
	drained chan struct{} // closed when the queue is empty; nil when it is
}

// emit hands an event to the hook's goroutine, which there is only while events wait.
func (e *events) emit(event Event) {
	if e.hook == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, event)
	if e.drained == nil {
		e.drained = make(chan struct{})
		go e.deliver()
	}
}

// deliver is the hook's goroutine.
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
		e.mu.Unlock()
		e.call(event)
	}
}

// call calls the hook. A hook that panics has lost this event and nothing else.
func (e *events) call(event Event) {
	defer func() {
		if panicked := recover(); panicked != nil {
			slog.Error("acpterm: the hook for events panicked", "event", fmt.Sprintf("%T", event), "panic", panicked)
		}
	}()
	e.hook(event)
}

// wait returns when the hook has had every event.
func (e *events) wait() {
	e.mu.Lock()
	drained := e.drained
	e.mu.Unlock()
	if drained != nil {
		<-drained
	}
}
