package acpterm

// The end of a Terminal: the command exits by itself, or a kill, a release or the timeout ends the tree step by step;
// and the end of the tree by itself.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/proc"
)

// An EscalationStep is a step in CommandOptions.Escalation. It sends a signal to the entire tree and waits for the tree
// to exit. Programs started during the wait, for example to clean up, do not receive a signal until the next step.
type EscalationStep struct {
	Signal syscall.Signal
	// Wait is the maximum time to wait before the next step. The default is 5 seconds, or 10 seconds for SIGKILL. Any
	// processes still running after SIGKILL are considered survivors.
	Wait time.Duration
}

// lifeSteps converts steps for internal/life.
func lifeSteps(table []EscalationStep) (steps []life.Step) {
	for _, step := range table {
		steps = append(steps, life.Step(step))
	}
	return steps
}

// Kill terminates the command and its entire process tree, and returns when the tree is gone. It follows the steps in
// CommandOptions.Escalation, ending with SIGKILL. Calling Kill again before the tree is gone sends SIGKILL immediately.
// If the command has already exited, Kill terminates any remaining processes in its tree.
//
// If ctx is done first, Kill returns ErrCancelled, but the escalation continues. Kill returns ErrSurvivors if any
// processes are still running after the last step, and ErrConnectionLost if Options.Runner has lost its connection.
//
// If the terminal is attached, Kill does not send any signals. Instead, it asks the owner to stop the command and waits
// for the owner to report its exit. If the owner cannot be asked or refuses, Kill returns ErrNotCancellable.
func (t *Terminal) Kill(ctx context.Context) error {
	return t.owner.kill(ctx, t, EndedByKill)
}

// Stop is like Kill, but on behalf of the user, who should be told apart from the agent: if the command is still
// running, EndedBy returns EndedByUser. Call it for a stop button.
func (t *Terminal) Stop(ctx context.Context) error {
	return t.owner.kill(ctx, t, EndedByUser)
}

// beginKill is the part of Kill and Stop that does not wait.
func (t *Terminal) beginKill(by EndedBy) *ending {
	e, begun := t.beginEnd(by)
	if !begun {
		e.forced.Set()
	}
	return e
}

// prepareRelease is called once, by the Manager under its lock. begin, to be called without the lock, begins the
// release and does not block. after is called when the release is complete, before waits for it return.
func (t *Terminal) prepareRelease(after func(*Terminal)) (begin func()) {
	e, begun := t.prepareEnd(EndedByRelease)
	t.busy.Add(1)
	return func() {
		t.owner.releasing()
		go func() {
			defer t.busy.Done()
			if begun {
				t.runEnding(e)
			}
			t.retire(e)
			t.reportRelease()
			after(t)
			t.release.done.Set()
		}()
	}
}

// Gone returns a channel that's closed when the last process of the tree has ended, by itself or by a kill: not only
// the command, but also all processes that it has started. If the Manager gives up the tree, because processes
// survived the release or the connection to Options.Runner was lost, the channel is never closed; Released tells when.
// The processes of an attached terminal are not known, so the channel is closed when its owner has reported the exit.
//
// The first call starts a goroutine that watches the tree after the exit; without it, nothing is watched. On Linux and
// Windows, it waits for the exits of up to 16 processes at a time, and then looks for processes that they have started.
// It looks every second on macOS and FreeBSD, before Linux 5.3, and if Options.KeepDetached is set. Detached processes
// do not count then, and processes that no kill would find (see Options.Cgroup) never do.
func (t *Terminal) Gone() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gone.asked && !t.release.begun.IsSet() {
		t.busy.Go(t.watchTree)
	}
	t.gone.asked = true
	return t.gone.Done()
}

// watchTree looks until the tree is gone. It ends when a release begins, whose ending tells as well.
func (t *Terminal) watchTree() {
	ctx, cancel := context.WithCancel(context.Background())
	defer t.release.begun.OnSet(cancel)()
	select {
	case <-t.finished.Done():
	case <-ctx.Done():
	}
	for ctx.Err() == nil && !t.gone.IsSet() {
		var rest func(context.Context)
		e, begun := t.prepareLook(func(b backend) bool {
			rest = b.Rest()
			return rest == nil
		})
		if begun {
			t.runEnding(e)
		}
		select {
		case <-e.done.Done(): // a kill's, perhaps
		case <-ctx.Done():
		}
		if rest != nil {
			rest(ctx)
		}
	}
	if ctx.Err() == nil { // otherwise the release reports it
		t.reportGone()
	}
}

// prepareLook is prepareEnd for a look whether the tree is gone. It returns the last ending if that may still tell.
func (t *Terminal) prepareLook(isGone func(backend) bool) (e *ending, begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := t.ending; last != nil && (t.release.begun.IsSet() || !last.done.IsSet() || last.err == nil) {
		return last, false
	}
	t.ending = &ending{by: EndedByItself, isGone: isGone}
	return t.ending, true
}

// reportGone emits the GoneEvent, once, if Gone was called. The EndEvent has been emitted.
func (t *Terminal) reportGone() {
	t.mu.Lock()
	asked := t.gone.asked
	t.mu.Unlock()
	if asked && t.gone.IsSet() {
		t.gone.reported.Do(func() { t.events.emit(&GoneEvent{t.subject(), time.Now()}) })
	}
}

// reportRelease emits the ReleaseEvent, unless the command was not started.
func (t *Terminal) reportRelease() {
	if t.State() != StateFailed && t.events.Observed() {
		<-t.finished.Done() // the EndEvent comes first
		t.reportGone()
		t.events.emit(&ReleaseEvent{Subject: t.subject(), Time: time.Now(), Err: t.release.err})
	}
}

// awaitRelease waits until a release is complete. If ctx is done first, it fails and the release goes on.
func (t *Terminal) awaitRelease(ctx context.Context) error {
	if err := t.await(ctx, &t.release.done, "release"); err != nil {
		return err
	}
	return t.release.err
}

// retire waits for the last ending and then gives up the tree and the output.
func (t *Terminal) retire(e *ending) {
	for settled := false; !settled; {
		<-e.done.Done()
		t.mu.Lock()
		settled = t.ending == e // otherwise a kill has begun another, because this one failed
		e, t.released = t.ending, settled
		t.mu.Unlock()
	}
	t.release.err = e.err
	if e.err == nil {
		t.release.err = t.endEntry()
	}
	b := t.behind()
	b.Stop()
	b.Close()
}

// ending is a run through the escalation steps or, by EndedByItself, a look whether the tree is gone after the exit.
type ending struct {
	by     EndedBy            // if the command still runs at its beginning
	isGone func(backend) bool // the look of one by EndedByItself
	look   *ending            // the earlier one by EndedByItself, or nil
	forced latch.Latch        // set to skip to SIGKILL
	done   latch.Latch        // set when the tree is gone, or given up
	left   []int              // the processes that still run, once done
	err    error              // once done

	// Under Terminal.mu.
	finished   bool // like done, but set before the EndEvent
	reportsEnd bool // the command ended before finished; the EndEvent has the survivors of this ending
}

// beginEnd begins to end the tree, unless an ending is under way or was successful, or the terminal was released; it
// then returns that ending. A starting command is ended once it runs.
func (t *Terminal) beginEnd(by EndedBy) (e *ending, begun bool) {
	e, begun = t.prepareEnd(by)
	if begun {
		t.busy.Go(func() { t.runEnding(e) })
	}
	return e, begun
}

// prepareEnd is beginEnd without the work. If begun is true, the caller calls runEnding.
func (t *Terminal) prepareEnd(by EndedBy) (e *ending, begun bool) {
	if by == EndedByRelease {
		t.release.begun.Set()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e = &ending{by: by, isGone: backend.Gone}
	switch last := t.ending; {
	case last != nil && last.by == EndedByItself:
		e.look = last
	case last != nil && (t.released || !last.done.IsSet() || last.err == nil):
		return last, false
	}
	t.ending = e
	return e, true
}

func (t *Terminal) runEnding(e *ending) {
	defer e.done.Set()
	e.err = t.endTree(e)
	if failure, ok := errors.AsType[*Error](e.err); ok && errors.Is(failure, ErrSurvivors) {
		t.events.emit(&SurvivorsEvent{t.subject(), time.Now(), failure.PIDs, failure.Err})
	}
	t.mu.Lock()
	e.finished = true
	reports := e.reportsEnd
	t.mu.Unlock()
	if reports { // before waits for this ending return; telemetry of the command ends with the EndEvent
		t.report(e.left)
	}
	if e.err == nil && (!t.Attached() || t.ExitStatus() != nil) { // a release gives up an attached command that runs
		t.gone.Set()
	}
}

// endTree ends the tree, unless it is gone.
func (t *Terminal) endTree(e *ending) error {
	<-t.started.Done()
	b := t.behind()
	if e.look != nil {
		if <-e.look.done.Done(); e.look.err == nil {
			return nil
		}
	}
	var doubt error
	if e.by != EndedByItself {
		e.left, doubt = life.End(b, &e.forced, t.escalation...)
	} else if !e.isGone(b) {
		return ErrSurvivors
	}
	if lost, ok := doubt.(lostTree); ok {
		<-t.ended.Done() // before a release closes the tree
		return t.lostTree(lost.error)
	}
	if e.left != nil || doubt != nil {
		return &Error{
			Op: "kill", Kind: ErrSurvivors, SessionID: t.SessionID(), TerminalID: t.id, PIDs: e.left, Err: doubt,
		}
	}
	<-t.ended.Done() // soon, because the command is gone
	drained := make(chan struct{})
	b.Drain(func() { // the last output of the rest of the tree
		t.store.commandEnded()
		close(drained)
	})
	<-drained
	b.Close()
	t.endEntry() // the release tries again and reports an error
	return nil
}

// lostTree returns the error for a tree whose state became unknown.
func (t *Terminal) lostTree(err error) error {
	e := *runnerError(context.Background(), t.Command(), "the Runner has lost its tree", err)
	e.Op, e.SessionID, e.TerminalID, e.Command = "kill", t.SessionID(), t.id, ""
	return &e
}

// expire ends the tree at a timeout, unless the command has ended or is being ended.
func (t *Terminal) expire(by EndedBy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.alive() && t.ending == nil {
		e := &ending{by: by}
		t.ending = e
		t.busy.Go(func() { t.runEnding(e) })
	}
}

// exited is called when the command has exited, or when its exit cannot be seen. It drains the output and calls finish.
func (t *Terminal) exited(e proc.Exit, err error) {
	if e.Reaped || errors.Is(err, proc.ErrReaped) {
		t.reaped.Do(logReaped)
	}
	t.behind().Drain(func() {
		defer t.busy.Done()
		t.finish(e, err)
	})
}

// finish publishes the end of the command. It does not block.
func (t *Terminal) finish(e proc.Exit, err error) {
	t.store.commandEnded()
	t.mu.Lock()
	last := cmp.Or(t.ending, &ending{by: EndedByItself, finished: true})
	t.end.at, t.end.by = time.Now(), last.by
	last.reportsEnd = !last.finished
	t.state = StateEnded
	if err == nil {
		t.end.exit = e
		t.end.by, t.end.status = t.owner.ended(t.end.by, e)
		if t.end.by == EndedByIdle {
			const format = `{"endedBy":"idle","idleMs":%d}`
			t.end.status.Meta["acpterm"] = fmt.Appendf(nil, format, t.idle.Milliseconds())
		}
	} else {
		failure := t.endNotSeen(err)
		t.end.err = failure
		switch failure.Kind {
		case ErrConnectionLost:
			t.end.by = EndedByLostConnection
		case ErrAgentGone:
			t.end.by = EndedByAgentGone
		}
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	if last.by == EndedByItself {
		t.beginEnd(EndedByItself) // first, so that the answers to waits, which follow, run before it
	}
	t.setEnded()
	if !last.reportsEnd {
		t.report(last.left)
	}
	t.finished.Set()
}

// endNotSeen returns the error of Wait if the end could not be seen.
func (t *Terminal) endNotSeen(err error) *Error {
	e := Error{Op: "wait", Kind: ErrInternal, SessionID: t.SessionID(), TerminalID: t.id, Err: err}
	switch told, ok := errors.AsType[*Error](err); {
	case ok && (told.Kind == ErrExitLost || told.Kind == ErrConnectionLost || told.Kind == ErrAgentGone):
		// err may wrap os.ErrClosed.
		e.Kind, e.Reason, e.Err = told.Kind, told.Reason, told.Err
	case errors.Is(err, proc.ErrReaped):
		e.Kind = ErrExitLost
	case errors.Is(err, os.ErrClosed):
		e.Err = errUnseen
	}
	return &e
}

// report emits the EndEvent.
func (t *Terminal) report(survivors []int) {
	if !t.events.Observed() {
		return
	}
	event := &EndEvent{
		Subject: t.subject(), EndedBy: t.EndedBy(), Status: t.ExitStatus(), Survivors: survivors,
		CPUTime: t.end.exit.CPUTime, PeakMemory: t.end.exit.PeakMemory,
	}
	t.mu.Lock()
	event.Started, event.Ended = t.startedAt, t.end.at
	t.mu.Unlock()
	event.Bytes = t.store.buffer().Written()
	event.Dropped = max(0, event.Bytes-t.store.limits().last)
	t.events.emit(event)
}
