package acpterm

// One command's life, from start to release. A Terminal joins a process tree (internal/proc), the capture of its output
// (internal/capture) and the buffer that keeps it; it knows its own id and session and nothing of others.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/capture"
	"github.com/acpterm/acpterm/internal/journal"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/proc"
)

// State is where a terminal is in its life.
type State int

const (
	// StateStarting is before the command runs.
	StateStarting State = iota
	// StateRunning is while it does.
	StateRunning
	// StateFinished is after it exited by itself, or was ended by somebody else.
	StateFinished
	// StateKilled is after Kill or a release ended it.
	StateKilled
	// StateTimedOut is after it outlived its timeout and was ended for it.
	StateTimedOut
	// StateFailed is when it could not be started. Such a terminal is in no manager.
	StateFailed
)

// EndedBy says what ended a command. On the wire it is "endedBy" in the object "acpterm" in the _meta of exit
// statuses.
type EndedBy string

const (
	// EndedByItself is a command that exited, or was ended by somebody else.
	EndedByItself EndedBy = "finished"
	// EndedByKill is Terminal.Kill.
	EndedByKill EndedBy = "killed"
	// EndedByRelease is a release, also one by the end of a connection.
	EndedByRelease EndedBy = "released"
	// EndedByTimeout is the command's timeout.
	EndedByTimeout EndedBy = "timed_out"
	// EndedByClose is Manager.Close.
	EndedByClose EndedBy = "closing"
)

// state is what a command that was ended so is in.
func (by EndedBy) state() State {
	switch by {
	case EndedByItself:
		return StateFinished
	case EndedByTimeout:
		return StateTimedOut
	}
	return StateKilled
}

// meta is what the agent is told of it.
func (by EndedBy) meta() Meta {
	return Meta{"acpterm": json.RawMessage(`{"endedBy":"` + string(by) + `"}`)}
}

var stateNames = [...]string{"starting", "running", "finished", "killed", "timed out", "failed"}

// String is the state for people: "running", "timed out", or of an unknown state "State(9)".
func (s State) String() string { return nameOf("State", stateNames[:], int(s)) }

// EscalationStep is one step of how a command is ended: a signal for its whole tree, which is always sent, and how long
// the tree may take to be gone before the next step.
type EscalationStep struct {
	Signal syscall.Signal
	// Wait is the time until the next step. 0: 5 seconds, and 10 seconds for SIGKILL, after which what still runs counts
	// as a survivor.
	Wait time.Duration
}

func (s EscalationStep) wait() time.Duration {
	switch {
	case s.Wait != 0:
		return s.Wait
	case s.Signal == syscall.SIGKILL:
		return 10 * time.Second
	}
	return 5 * time.Second
}

// followSize is how many bytes of output one Chunk has at the most.
const followSize = 64 << 10

// Terminal is one command, running or ended, with its output. A Manager makes it. Whoever holds it can read
// it for ever, after its release too.
//
// All methods may be called concurrently. None of them holds a lock while it waits.
type Terminal struct {
	id         TerminalID
	session    SessionID
	request    CreateTerminalRequest
	created    time.Time
	limit      int64 // bytes that Output shows
	escalation []EscalationStep
	timeout    time.Duration // 0: none
	limits     Limits

	ring      *ringBuffer
	cgroup    string           // Options.Cgroup
	journal   journal.Dir      // Options.Journal
	processes *proc.Supervisor // the manager's
	lost      func()           // the manager's: another part of the program reaped the command's process
	events    *events          // the manager's
	busy      *sync.WaitGroup  // the manager's: every goroutine of the terminal is in it
	started   latch.Latch      // it has left StateStarting
	ended     latch.Latch      // the command has ended and its output is in the ring

	// Written before started, and read after.
	command Command
	tree    tree   // nil when starting failed
	source  source // likewise

	mu        sync.Mutex
	state     State
	startedAt time.Time
	endedAt   time.Time
	endedBy   EndedBy            // empty until ended
	status    TerminalExitStatus // once ended
	exit      proc.Exit          // likewise
	waitErr   error              // likewise
	ending    *ending            // the last one; nil until something ends the tree
	timer     *time.Timer        // of the timeout; nil when there is none

	released bool // a release has ended the tree, or given it up

	retireOnce sync.Once
	retired    latch.Latch // a release has ended everything
	retireErr  error       // once retired
}

// Chunk is a piece of output that a follower gets.
type Chunk struct {
	// Offset and End are where the piece begins and ends, in bytes as the command wrote them. Going on from
	// End gets what comes next.
	Offset, End int64
	// Text is the piece as valid UTF-8 in whole characters; a byte that is part of none is U+FFFD.
	Text string
	// Missed is how many bytes before Offset were gone when the follower came for them.
	Missed int64
}

// ID is the terminal's id.
func (t *Terminal) ID() TerminalID { return t.id }

// Session is the session that the terminal belongs to.
func (t *Terminal) Session() SessionID { return t.session }

// Request is what was asked for. It is a copy.
func (t *Terminal) Request() CreateTerminalRequest { return t.request.clone() }

// Command is what really runs, as a copy. It is the zero Command while the terminal is starting.
func (t *Terminal) Command() Command {
	if !t.started.IsSet() {
		return Command{}
	}
	return t.command.clone()
}

// OutputByteLimit is how many bytes of output are kept for Output.
func (t *Terminal) OutputByteLimit() uint64 { return uint64(t.limit) }

// OutputTotal is how many bytes the command has written so far, kept or not.
func (t *Terminal) OutputTotal() int64 { return t.ring.total() }

// Limits are what the system enforces on the command. There are none while the terminal is starting, and none are known
// of a Runner's command.
func (t *Terminal) Limits() []EnforcedLimit {
	if !t.started.IsSet() || t.tree == nil {
		return nil
	}
	var limits []EnforcedLimit
	for _, l := range t.tree.Limits() {
		limits = append(limits, EnforcedLimit(l))
	}
	return limits
}

// State is where the terminal is in its life.
func (t *Terminal) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Times says when the terminal was created, when its command was started and when it ended; a time that
// has not come is zero.
func (t *Terminal) Times() (created, started, ended time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.created, t.startedAt, t.endedAt
}

// EndedBy says what ended the command; empty while it runs.
func (t *Terminal) EndedBy() EndedBy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.endedBy
}

// Done returns a channel that is closed when the command has ended and all it wrote can be read.
func (t *Terminal) Done() <-chan struct{} { return t.ended.Done() }

// Output is the output so far and, once the command has ended, how it ended; then all that the command
// itself wrote is in. It is what terminal/output answers.
func (t *Terminal) Output() TerminalOutputResponse {
	var out TerminalOutputResponse
	out.ExitStatus = t.exitStatusIfEnded() // first: the output is whole then
	out.Output, out.Truncated = t.ring.last(t.limit)
	return out
}

// exitStatusIfEnded is how the command ended; nil while it runs, or when its end could not be seen.
func (t *Terminal) exitStatusIfEnded() *TerminalExitStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.endedAt.IsZero() || t.waitErr != nil {
		return nil
	}
	status := t.status
	return &status
}

// Follow returns the output from an offset on, in pieces, as it comes: 0 is the beginning, a Chunk's End is
// where to go on. It goes on until there can be no more output, which is when the last process that holds the
// output has closed it or the terminal is released: a command that leaves something running in the background
// may have ended long before. To stop sooner, end ctx or leave the loop.
//
// A follower never slows the command. One that is too slow itself, or asks for what is gone, is told how
// much it missed, to the byte; the last piece may be such a report with no text.
func (t *Terminal) Follow(ctx context.Context, offset int64) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		defer t.ring.follow()()
		at := max(offset, 0)
		for ctx.Err() == nil {
			g := t.ring.look(at, followSize)
			if g.end > at {
				if !yield(Chunk{Offset: g.begin, End: g.end, Text: g.text, Missed: g.begin - at}) {
					return
				}
				at = g.end
				continue
			}
			if g.over {
				return
			}
			if changed := t.ring.changed(g); changed != nil {
				select {
				case <-changed:
				case <-ctx.Done():
				}
			}
		}
	}
}

// Wait returns how the command ended, when it has, whatever it left running. Every byte that the command
// itself wrote can be read by then.
//
// It fails with ErrCancelled when ctx ends first, with what Create returned when the command never started,
// and with ErrInternal when its end could not be seen: a release that gave it up ends the watch for it.
func (t *Terminal) Wait(ctx context.Context) (TerminalExitStatus, error) {
	select {
	case <-t.ended.Done():
	case <-ctx.Done():
		if !t.over() {
			return TerminalExitStatus{}, t.cancelled("wait", ctx)
		}
	}
	return t.exitStatus()
}

// over reports whether State says that the command has ended or was not started.
func (t *Terminal) over() bool { return t.State() > StateRunning }

func (t *Terminal) exitStatus() (TerminalExitStatus, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status, t.waitErr
}

func (t *Terminal) cancelled(op string, ctx context.Context) error {
	return &Error{Op: op, Kind: ErrCancelled, SessionID: t.session, TerminalID: t.id, Err: context.Cause(ctx)}
}

// Kill ends the command and its whole tree: step by step as the manager's escalation table says, then with
// SIGKILL. It returns when the tree is gone. A second Kill while a step is being waited for forces at once.
// On a command that has ended it ends what is left of its tree; when nothing is, that is no error.
//
// It fails with ErrCancelled when ctx ends first, and the ending goes on; with ErrSurvivors when something
// withstood.
func (t *Terminal) Kill(ctx context.Context) error {
	e := t.beginKill()
	select {
	case <-e.done.Done():
		return e.err
	case <-ctx.Done():
		return t.cancelled("kill", ctx)
	}
}

// beginKill is the part of Kill that waits for nothing.
func (t *Terminal) beginKill() *ending {
	e, begun := t.end(EndedByKill)
	if !begun {
		e.forced.Set()
	}
	return e
}

// prepareRelease is called by the manager, with its lock held. What it returns, to be called without, begins to end the
// tree and the capture; it waits for nothing. after is called when everything has ended, before waits for it return.
func (t *Terminal) prepareRelease(by EndedBy, after func(*Terminal)) (begin func()) {
	begin = func() {}
	t.retireOnce.Do(func() {
		e, begun := t.prepareEnd(by)
		t.busy.Add(1)
		begin = func() {
			go func() {
				defer t.busy.Done()
				if begun {
					t.runEnding(e)
				}
				t.retire(e)
				after(t)
				t.retired.Set()
			}()
		}
	})
	return begin
}

// awaitRelease returns when a release that was begun is complete. When ctx ends first it fails, and the release
// goes on.
func (t *Terminal) awaitRelease(ctx context.Context) error {
	select {
	case <-t.retired.Done():
		return t.retireErr
	case <-ctx.Done():
		return t.cancelled("release", ctx)
	}
}

// retire is the goroutine of a release.
func (t *Terminal) retire(e *ending) {
	for settled := false; !settled; {
		<-e.done.Done()
		t.mu.Lock()
		settled = t.ending == e // else a kill has begun another, because this one failed
		e, t.released = t.ending, settled
		t.mu.Unlock()
	}
	t.retireErr = e.err
	if e.err == nil {
		t.retireErr = t.forgetRecord()
	}
	if t.tree != nil {
		t.source.Stop()
		t.tree.Close()
	}
}

// hurryRelease makes a release that was begun do without grace, and returns when it is complete.
func (t *Terminal) hurryRelease() {
	e, _ := t.end(EndedByRelease)
	e.forced.Set()
	<-t.retired.Done()
}

// ending is a tree being ended: one run through the escalation table.
type ending struct {
	by     EndedBy     // if the command still runs when it begins
	forced latch.Latch // what is left of the table is to be skipped
	done   latch.Latch // the tree is gone, or given up
	err    error       // once done

	// Under Terminal.mu.
	over    bool // the tree is gone, or given up
	reports bool // the command ended before that, and its end is told of with this ending's
}

// end begins to end the tree, or returns the ending that is under way or was successful. After a release
// there is no new one. A command that is still being started is ended once it runs.
func (t *Terminal) end(by EndedBy) (e *ending, begun bool) {
	e, begun = t.prepareEnd(by)
	if begun {
		t.busy.Go(func() { t.runEnding(e) })
	}
	return e, begun
}

// prepareEnd is end but for the work, which is runEnding's if it reports true.
func (t *Terminal) prepareEnd(by EndedBy) (e *ending, begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != nil && (t.released || !t.ending.failed()) {
		return t.ending, false
	}
	e = &ending{by: by}
	t.ending = e
	return e, true
}

// runEnding is the work of an ending that was prepared.
func (t *Terminal) runEnding(e *ending) {
	defer e.done.Set()
	e.err = t.endTree(e)
	t.mu.Lock()
	e.over = true
	reports := e.reports
	t.mu.Unlock()
	if reports { // before whoever waits for this ending goes on
		t.report(e.survivors())
	}
	if survivors := e.survivors(); len(survivors) > 0 {
		t.events.emit(&SurvivorsEvent{Subject: t.subject(), Time: time.Now(), Survivors: survivors})
	}
}

// survivors are the processes that withstood an ending that is over.
func (e *ending) survivors() []int {
	if failure, ok := errors.AsType[*Error](e.err); ok {
		return failure.PIDs
	}
	return nil
}

// failed reports whether it is over and something withstood.
func (e *ending) failed() bool {
	return e.done.IsSet() && e.err != nil
}

// endTree ends the tree, if it is not gone.
func (t *Terminal) endTree(e *ending) error {
	<-t.started.Done()
	if t.tree == nil {
		return nil // it never ran
	}
	if survivors := t.escalate(e); len(survivors) > 0 {
		return &Error{Op: "kill", Kind: ErrSurvivors, SessionID: t.session, TerminalID: t.id, PIDs: survivors}
	}
	<-t.ended.Done() // the command is gone, so this is near
	drained := make(chan struct{})
	t.source.Drain(func() { // what the rest of the tree wrote before it was gone
		t.ring.settle()
		close(drained)
	})
	<-drained
	t.tree.Close()
	t.forgetRecord() // should that fail, the release says so
	return nil
}

// escalate goes through the escalation table, and to SIGKILL at once when forced, until the tree is gone. It returns the
// processes that still run then.
func (t *Terminal) escalate(e *ending) (survivors []int) {
	forced, force := context.WithCancel(context.Background())
	defer force()
	defer e.forced.OnSet(force)()
	steps, last := splitEscalation(t.escalation)
	for _, step := range steps {
		if forced.Err() != nil {
			break
		}
		if len(t.takeStep(forced, step)) == 0 {
			return nil
		}
	}
	return t.takeStep(context.Background(), last)
}

// splitEscalation returns the steps before the last, which is SIGKILL whether the table says so or not.
func splitEscalation(table []EscalationStep) (steps []EscalationStep, last EscalationStep) {
	if n := len(table); n > 0 && table[n-1].Signal == syscall.SIGKILL {
		return table[:n-1], table[n-1]
	}
	return table, EscalationStep{Signal: syscall.SIGKILL}
}

// takeStep sends a step's signal and waits, and returns the processes that still run then.
func (t *Terminal) takeStep(ctx context.Context, step EscalationStep) (left []int) {
	ctx, cancel := context.WithTimeout(ctx, step.wait())
	defer cancel()
	return t.tree.End(ctx, step.Signal)
}

// expire is what the timeout does. A command that has ended, or is being ended, has won.
func (t *Terminal) expire() {
	t.mu.Lock()
	running := t.state == StateRunning && t.ending == nil
	t.mu.Unlock()
	if running {
		t.end(EndedByTimeout)
	}
}

// start runs the command. The caller has made the terminal known already. same fails if the program is not what was approved.
func (t *Terminal) start(ctx context.Context, allowed authorized, o Options, same func() error) error {
	defer t.started.Set()
	t.command = allowed.proposal.Command
	t.command.Env = markEnv(t.command.Env, t.id)
	var err error
	if o.Runner != nil {
		err = t.startElsewhere(ctx, o)
	} else {
		err = t.startHere(ctx, allowed, o.Wrap, same)
	}
	if err != nil {
		err = inOperation("create", t.session, err)
		t.fail(err)
		return err
	}
	t.mu.Lock()
	t.state, t.startedAt = StateRunning, time.Now()
	if t.timeout > 0 {
		t.timer = time.AfterFunc(t.timeout, t.expire)
	}
	started := t.startedAt
	t.mu.Unlock()
	if t.events.heard() {
		t.events.emit(&StartEvent{Subject: t.subject(), Time: started, Terminal: t})
	}
	t.busy.Add(1)
	t.tree.OnExit(t.exited)
	return t.recordStart(t.tree.PID())
}

// startHere has this system run the command.
func (t *Terminal) startHere(ctx context.Context, allowed authorized, wrap Wrapper, same func() error) (err error) {
	wrapped := Wrapped{Command: t.command}
	if wrap != nil {
		panicked := callHook("Wrap", func() { wrapped, err = wrap.Wrap(ctx, allowed.proposal) })
		defer func() {
			for _, file := range wrapped.Files {
				file.Close()
			}
		}()
		if err = cmp.Or(panicked, err); err != nil {
			return runnerError(ctx, t.command, "the Wrapper failed", err)
		}
		wrapped.Command = wrapped.Command.withArgs()
		wrapped.Command.Env = markEnv(wrapped.Command.Env, t.id)
	}
	if err := t.record(); err != nil {
		return err
	}
	if err := same(); err != nil { // last, since what comes before may take a while
		return err
	}
	command, err := allowed.pinned.start(wrapped.Command)
	if err != nil {
		return err
	}
	limits, err := t.limits.asked()
	if err != nil {
		return err
	}
	spec := proc.Spec{
		Mark:   proc.Mark{Name: terminalVariable, Value: string(t.id)},
		Cgroup: t.cgroup, Limits: limits, Files: wrapped.Files, Contained: wrapped.PIDNamespace,
	}
	if err := setCommand(&spec, command); err != nil {
		return err
	}
	tree, err := t.processes.Start(ctx, spec)
	if err != nil {
		if ctx.Err() != nil {
			return &Error{Kind: ErrCancelled, Err: context.Cause(ctx)}
		}
		return t.notStarted(command, err, wrap != nil)
	}
	t.tree, t.source = tree, capture.Start(tree.Output(), t.ring, t.busy)
	return nil
}

// notStarted is the error for a command that did not start. A program that a Wrapper names is not the agent's.
func (t *Terminal) notStarted(c Command, err error, wrapped bool) error {
	err = startError(c, err)
	if e, ok := err.(*Error); ok && wrapped && (e.Kind == ErrCommandNotFound || e.Kind == ErrNotExecutable) {
		return &Error{Kind: ErrInternal, Reason: "the Wrapper's program cannot be started", Err: e.Err}
	}
	return err
}

// startElsewhere has a Runner run the command.
func (t *Terminal) startElsewhere(ctx context.Context, o Options) error {
	for option, set := range map[string]bool{"Wrap": o.Wrap != nil, "Cgroup": t.cgroup != ""} {
		if set {
			return &Error{Kind: ErrInternal, Reason: "Options." + option + " is of no use to commands that Options.Runner runs"}
		}
	}
	tree, err := startElsewhere(ctx, o.Runner, Launch{
		SessionID: t.session, TerminalID: t.id, Command: t.command, Limits: t.limits,
	}, t.ring)
	if err != nil {
		return err
	}
	t.tree, t.source = tree, tree
	return nil
}

// fail makes it a terminal whose command never ran.
func (t *Terminal) fail(err error) {
	t.ring.Close()
	t.mu.Lock()
	t.state, t.waitErr = StateFailed, err
	t.mu.Unlock()
	t.ended.Set()
}

// exited ends the terminal when its output is whole. The command has exited, or that will not be seen.
func (t *Terminal) exited(e proc.Exit, err error) {
	if e.Reaped && !t.processes.HostReaps || errors.Is(err, proc.ErrReaped) {
		t.lost()
	}
	t.source.Drain(func() {
		defer t.busy.Done()
		t.finish(e, err)
	})
}

// finish makes the terminal one whose command has ended. It waits for nothing.
func (t *Terminal) finish(e proc.Exit, err error) {
	t.ring.settle()
	t.mu.Lock()
	t.endedAt, t.endedBy = time.Now(), EndedByItself
	ending, reported := t.ending, false
	if ending != nil {
		t.endedBy = ending.by
		reported = !ending.over
		ending.reports = ending.reports || reported
	}
	t.state = t.endedBy.state()
	switch {
	case err == nil:
		t.status, t.exit = statusOf(e), e
		t.status.Meta = t.endedBy.meta()
	case errors.Is(err, proc.ErrReaped):
		t.waitErr = &Error{Op: "wait", Kind: ErrExitLost, SessionID: t.session, TerminalID: t.id, Err: err}
	default:
		if errors.Is(err, os.ErrClosed) {
			err = errUnseen
		}
		t.waitErr = &Error{Op: "wait", Kind: ErrInternal, SessionID: t.session, TerminalID: t.id, Err: err}
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.ended.Set()
	switch {
	case ending == nil:
		t.report(nil)
	case !reported:
		t.report(ending.survivors())
	}
}

// report tells of the command's end.
func (t *Terminal) report(survivors []int) {
	if !t.events.heard() {
		return
	}
	event := &EndEvent{
		Subject: t.subject(), EndedBy: t.EndedBy(), Status: t.exitStatusIfEnded(), Survivors: survivors,
		CPUTime: t.exit.CPUTime, PeakMemory: t.exit.PeakMemory,
	}
	_, event.Started, event.Ended = t.Times()
	event.Bytes = t.ring.total()
	event.Dropped = max(0, event.Bytes-t.limit)
	t.events.emit(event)
}

// subject is the terminal in an event. Its command has been started.
func (t *Terminal) subject() Subject {
	return Subject{
		TerminalID: t.id, SessionID: t.session, PID: t.tree.PID(),
		Path: t.command.Path, Args: t.command.Args, Dir: t.command.Dir, ShellLine: t.command.ShellLine,
	}
}
