package acpterm

// The Terminal: its state and its start. terminal_end.go has its end. It joins a backend, which is the process tree,
// and a store, which keeps the output.

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// State is the state of a terminal.
type State int

const (
	// StateStarting means the command does not run yet.
	StateStarting State = iota
	// StateRunning means the command is running.
	StateRunning
	// StateEnded means the command has ended; see Terminal.EndedBy.
	StateEnded
	// StateFailed means the command could not be started. The Manager does not keep such a terminal.
	StateFailed
)

// EndedBy says what ended a command. On the wire it is "endedBy" in the object "acpterm" in the _meta of an exit
// status.
type EndedBy string

const (
	// EndedByItself means the command exited, or another process ended it.
	EndedByItself EndedBy = "finished"
	// EndedByKill means Terminal.Kill ended the command.
	EndedByKill EndedBy = "killed"
	// EndedByRelease means a release ended the command, for example at the end of its connection.
	EndedByRelease EndedBy = "released"
	// EndedByTimeout means CommandOptions.Timeout ended the command.
	EndedByTimeout EndedBy = "timed_out"
	// EndedByClose means Manager.Close or Manager.Shutdown ended the command.
	EndedByClose EndedBy = "closing"
	// EndedByLostConnection means the end of the command is unknown: the connection of Options.Runner was lost.
	EndedByLostConnection EndedBy = "connection_lost"
)

// meta returns the _meta of an exit status.
func (by EndedBy) meta() Meta {
	return Meta{"acpterm": json.RawMessage(`{"endedBy":"` + string(by) + `"}`)}
}

var stateNames = [...]string{
	StateStarting: "starting", StateRunning: "running", StateEnded: "ended", StateFailed: "failed",
}

// alive reports whether the command has started and has not ended.
func (s State) alive() bool { return s == StateRunning }

// String returns the name of the state, such as "running", or "State(9)" for an unknown state.
func (s State) String() string { return nameOf("State", stateNames[:], int(s)) }

// Terminal is one command, running or ended, with its output. Manager.Create makes it. It can still be read after its
// release.
//
// All methods are safe for concurrent use. None of them holds a lock while it waits.
type Terminal struct {
	id         TerminalID
	session    SessionID
	number     int64 // in the order of registration
	request    CreateTerminalRequest
	created    time.Time
	escalation []life.Step
	timeout    time.Duration // or 0

	*shared  // the Manager's
	store    store
	started  latch.Latch // set at the end of StateStarting
	ended    latch.Latch // set when the command has ended and its output can be read
	finished latch.Latch // set when the EndEvent is queued, or an ending will queue it
	release  release

	mu        sync.Mutex
	state     State
	backend   backend // notStarted until the start
	command   Command // zero until the start
	journal   Journal // with a record of the command, or nil
	startedAt time.Time
	end       end         // of the command
	ending    *ending     // the last one, or nil
	released  bool        // the release is complete
	timer     *time.Timer // of the timeout, or nil
}

// shared is the part of a Manager that its terminals use.
type shared struct {
	processes proc.Supervisor
	events    events
	cgroup    string    // Options.Cgroup
	reaped    sync.Once // for logReaped

	// The goroutines of all terminals. A release adds its own under Manager.mu, and it outlasts the others of its
	// terminal. So once Manager.leave has begun all releases, it can wait for all goroutines.
	busy sync.WaitGroup
}

// end is the end of a command.
type end struct {
	at     time.Time
	by     EndedBy
	status TerminalExitStatus
	exit   proc.Exit
	err    error // of Wait
}

// release is the release of a terminal.
type release struct {
	once sync.Once
	done latch.Latch
	err  error // once done
}

// ID returns the id of the terminal.
func (t *Terminal) ID() TerminalID { return t.id }

// SessionID returns the id of the terminal's session.
func (t *Terminal) SessionID() SessionID { return t.session }

// Request returns a copy of the request.
func (t *Terminal) Request() CreateTerminalRequest { return t.request.clone() }

// Command returns a copy of the resolved command. While the terminal is starting, it is the zero Command.
func (t *Terminal) Command() Command {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.command.clone()
}

// behind returns the backend.
func (t *Terminal) behind() backend {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.backend
}

// State returns the state of the terminal.
func (t *Terminal) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// EndedBy returns what ended the command. It is empty while the command runs.
func (t *Terminal) EndedBy() EndedBy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end.by
}

// Done returns a channel that is closed when the command has ended and all its output can be read.
func (t *Terminal) Done() <-chan struct{} { return t.ended.Done() }

// Released returns a channel that is closed at the end of a release: the process tree is gone, or was given up.
func (t *Terminal) Released() <-chan struct{} { return t.release.done.Done() }

// ExitStatus returns a copy of the exit status. It is nil while the command runs, and if its end could not be seen.
func (t *Terminal) ExitStatus() *TerminalExitStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exitStatusLocked()
}

func (t *Terminal) exitStatusLocked() *TerminalExitStatus {
	if t.end.at.IsZero() || t.end.err != nil {
		return nil
	}
	return new(t.end.status.clone())
}

// Wait waits for the end of the command and returns its exit status, even if processes that it started still run. By
// then every byte that the command itself wrote can be read.
//
// It returns ErrCancelled if ctx is done first, the error of Create if the command never started, and
// ErrInternal if its end could not be seen because a release gave it up. It returns ErrExitLost if the exit status
// was lost, and ErrConnectionLost if the connection of Options.Runner was lost.
func (t *Terminal) Wait(ctx context.Context) (TerminalExitStatus, error) {
	if err := t.await(ctx, &t.ended, "wait"); err != nil && !t.over() {
		return TerminalExitStatus{}, err
	}
	return t.exitStatus()
}

// over reports whether the command has ended or failed to start.
func (t *Terminal) over() bool {
	state := t.State()
	return state == StateEnded || state == StateFailed
}

func (t *Terminal) exitStatus() (TerminalExitStatus, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end.status.clone(), t.end.err
}

// await waits until a latch is set. It returns ErrCancelled if ctx is done first.
func (t *Terminal) await(ctx context.Context, l *latch.Latch, op string) error {
	select {
	case <-l.Done():
		return nil
	case <-ctx.Done():
		return &Error{Op: op, Kind: ErrCancelled, SessionID: t.session, TerminalID: t.id, Err: context.Cause(ctx)}
	}
}

// subject returns the Subject of events.
func (t *Terminal) subject() Subject {
	t.mu.Lock()
	c, b := t.command, t.backend
	t.mu.Unlock()
	return Subject{
		TerminalID: t.id, SessionID: t.session, PID: b.PID(), Attached: t.Attached(), Meta: t.request.Meta,
		Path: c.Path, Args: c.Args, Dir: c.Dir, ShellLine: c.ShellLine,
	}
}

// start starts the command. The terminal is registered already.
func (t *Terminal) start(ctx context.Context, where machine, allowed *authorized, s settings) error {
	defer t.started.Set()
	command := allowed.proposal.Command
	command.Env = lookup.Mark(command.Env, string(t.id))
	started, err := where.start(ctx, t, command, allowed, s)
	if err != nil {
		err = inOperation("create", t.session, err)
		t.fail(command, err)
		return err
	}
	t.mu.Lock()
	t.backend, t.command, t.state, t.startedAt = started, command, StateRunning, time.Now()
	if t.timeout > 0 {
		t.timer = time.AfterFunc(t.timeout, t.expire)
	}
	startedAt := t.startedAt
	t.mu.Unlock()
	t.begin(started, startedAt)
	return t.recordStart(started)
}

// begin reports the start of the command and registers exited.
func (t *Terminal) begin(b backend, startedAt time.Time) {
	t.events.emit(&StartEvent{Subject: t.subject(), Time: startedAt, Terminal: t})
	t.busy.Add(1)
	b.OnExit(t.exited)
}

// fail ends a terminal whose command was not started.
func (t *Terminal) fail(c Command, err error) {
	t.store.commandEnded()
	t.store.Close()
	t.mu.Lock()
	t.state, t.command, t.end.err = StateFailed, c, err
	t.mu.Unlock()
	t.ended.Set()
}
