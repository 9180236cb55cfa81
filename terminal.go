package acpterm

// The Terminal: its state and start. It joins a backend, which is the process tree, and a store, which has the output.

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/proc"
)

// State is the state of a terminal.
type State int

const (
	// StateStarting indicates that the command has not been started yet.
	StateStarting State = iota
	// StateRunning indicates that the command is running.
	StateRunning
	// StateEnded indicates that the command has exited or has been terminated. To find out why, call Terminal.EndedBy.
	StateEnded
	// StateFailed indicates that the command could not be started. The Manager does not retain terminals in this state.
	StateFailed
)

// EndedBy describes why a command exited or was terminated. The agent receives it as "endedBy" in the "acpterm" object
// of the exit status's _meta.
type EndedBy string

const (
	// EndedByItself indicates that the command exited on its own or was killed by another process.
	EndedByItself EndedBy = "finished"
	// EndedByKill indicates that the command was terminated by Terminal.Kill.
	EndedByKill EndedBy = "killed"
	// EndedByUser indicates that the command was terminated by Terminal.Stop. An agent should not run it again unless
	// the user asks for it.
	EndedByUser EndedBy = "stopped_by_user"
	// EndedByRelease indicates that the command was terminated by a release, such as when its connection or the Manager
	// was closed.
	EndedByRelease EndedBy = "released"
	// EndedByTimeout indicates that the command exceeded CommandOptions.Timeout.
	EndedByTimeout EndedBy = "timed_out"
	// EndedByIdle indicates that the command was idle for longer than CommandOptions.IdleTimeout, which the agent
	// receives as "idleMs", in milliseconds.
	EndedByIdle EndedBy = "idle"
	// EndedByLostConnection indicates that Options.Runner lost its connection and cannot tell how the command exited.
	EndedByLostConnection EndedBy = "connection_lost"
	// EndedByAgentGone indicates that the Handler of an attached terminal was closed, usually because the agent has
	// ended, and cannot tell how the command ended.
	EndedByAgentGone EndedBy = "agent_gone"
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

// String returns the name of the state, such as "running". Unknown states are formatted like "State(9)".
func (s State) String() string { return nameOf("State", stateNames[:], int(s)) }

// A Terminal represents a command and its output, both while the command is running and after it has exited. Terminals
// are created by Manager.Create. The output can be read even after the terminal has been released. A Terminal is safe
// for concurrent use by multiple goroutines, and its methods do not hold any locks while waiting.
type Terminal struct {
	id         TerminalID
	number     int64   // in the order of registration
	about      Subject // the command and the PID are set later
	request    CreateTerminalRequest
	created    time.Time
	escalation []life.Step
	timeout    time.Duration // or 0
	idle       time.Duration // CommandOptions.IdleTimeout, or 0
	owner      owner

	*shared  // the Manager's
	store    store
	started  latch.Latch // set at the end of StateStarting
	ended    latch.Latch // set when the command has ended and its output can be read
	finished latch.Latch // set when the EndEvent is queued, or an ending will queue it
	gone     gone
	release  release

	mu        sync.Mutex
	state     State
	backend   backend // notStarted until the start
	command   Command // zero until the start
	journal   Journal // with an entry for the command, or nil
	startedAt time.Time
	end       end         // of the command
	ending    *ending     // the last one, or nil
	released  bool        // the release is complete
	timer     *time.Timer // of the timeout, or nil
	agentWait agentWait
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

type end struct {
	at     time.Time
	by     EndedBy
	status TerminalExitStatus
	exit   proc.Exit
	err    error // of Wait
}

type gone struct {
	latch.Latch           // set when the tree is gone
	asked       bool      // Terminal.Gone has been called; under Terminal.mu
	reported    sync.Once // the GoneEvent
}

type release struct {
	begun latch.Latch // no look begins any more
	done  latch.Latch
	err   error // once done
}

// agentWait has the user's moves to the background, and the latches of pending waits, which are nil until needed.
type agentWait struct {
	moved  bool         // MoveToBackground has been called
	move   *latch.Latch // set by the next MoveToBackground
	answer *latch.Latch // set by the next MoveToBackground, or when the command has ended
}

// ID returns the terminal's id.
func (t *Terminal) ID() TerminalID { return t.id }

// SessionID returns the id of the terminal's session.
func (t *Terminal) SessionID() SessionID { return t.request.SessionID }

// Request returns a copy of the request that created the terminal.
func (t *Terminal) Request() CreateTerminalRequest { return t.request.clone() }

// Command returns a copy of the resolved command, or the zero Command if the command has not been started yet.
func (t *Terminal) Command() Command {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.command.clone()
}

func (t *Terminal) behind() backend {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.backend
}

// State returns the current state of the terminal.
func (t *Terminal) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// EndedBy returns the reason the command exited, or the empty string if the command is still running.
func (t *Terminal) EndedBy() EndedBy {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end.by
}

// Done returns a channel that's closed when the command has exited and all output of the command itself is available.
func (t *Terminal) Done() <-chan struct{} { return t.ended.Done() }

// Released returns a channel that's closed when the terminal has been released and its processes are gone or abandoned.
func (t *Terminal) Released() <-chan struct{} { return t.release.done.Done() }

// ExitStatus returns a copy of the exit status, or nil if the command is still running or the exit status is unknown.
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

// Wait waits for the command to exit and returns its exit status. When Wait returns, all output of the command itself
// is available. Wait does not wait for any other processes started by the command.
//
// If ctx is done first, Wait returns ErrCancelled. If the command was never started, Wait returns the error from
// Create. If a release gave up on the command before its exit was observed, Wait returns ErrInternal. If the exit
// status was lost, Wait returns ErrExitLost, and if the connection to what runs the command was lost,
// ErrConnectionLost or ErrAgentGone.
func (t *Terminal) Wait(ctx context.Context) (TerminalExitStatus, error) {
	err := t.await(ctx, &t.ended, "wait")
	if state := t.State(); err != nil && state != StateEnded && state != StateFailed { // set before ended
		return TerminalExitStatus{}, err
	}
	return t.exitStatus()
}

func (t *Terminal) exitStatus() (TerminalExitStatus, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.end.status.clone(), t.end.err
}

// MoveToBackground makes an agent that waits for the command go on, at the user's request. The command is not affected,
// and later waits are answered at its exit as usual. Terminal.Wait does not return.
//
// Pending terminal/wait_for_exit requests are answered with neither an exit code nor a signal, and with "background" as
// the "state" in the "acpterm" object of _meta, but only if the create request had "background": true in that object:
// other agents take such a status for success, and release the terminal. Servers that let agents wait in another way,
// such as package mcpserver, use Backgrounded. MoveToBackground reports whether the agent can be told, and the command
// is running; otherwise, it does nothing.
func (t *Terminal) MoveToBackground() bool {
	t.mu.Lock()
	w := t.agentWait
	moves := t.state.alive() && (w.move != nil || t.request.knowsBackground())
	if moves {
		t.agentWait = agentWait{moved: true}
	}
	t.mu.Unlock()
	if !moves {
		return false
	}
	t.events.emit(&BackgroundEvent{t.subject(), time.Now()})
	for _, l := range []*latch.Latch{w.move, w.answer} {
		if l != nil {
			l.Set()
		}
	}
	return true
}

// Backgrounded returns a channel that's closed by the next call to MoveToBackground, which then ends the wait of an
// agent. The channel of an attached terminal is never closed.
func (t *Terminal) Backgrounded() <-chan struct{} {
	if t.Attached() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.agentWait.move == nil {
		t.agentWait.move = new(latch.Latch)
	}
	return t.agentWait.move.Done()
}

// answerWaits returns the latch for a wait of the agent that begins now. Once it is set, answerWait returns the answer.
func (t *Terminal) answerWaits() *latch.Latch {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == StateEnded || !t.request.knowsBackground() {
		return &t.ended
	}
	if t.agentWait.answer == nil {
		t.agentWait.answer = new(latch.Latch)
	}
	return t.agentWait.answer
}

func (t *Terminal) answerWait() (TerminalExitStatus, error) {
	if !t.ended.IsSet() {
		return TerminalExitStatus{Meta: Meta{"acpterm": json.RawMessage(`{"state":"background"}`)}}, nil
	}
	return t.exitStatus()
}

// setEnded makes waits return.
func (t *Terminal) setEnded() {
	t.ended.Set()
	t.mu.Lock()
	answer := t.agentWait.answer
	t.mu.Unlock()
	if answer != nil {
		answer.Set()
	}
}

// await waits until a latch is set. It returns ErrCancelled if ctx is done first.
func (t *Terminal) await(ctx context.Context, l *latch.Latch, op string) error {
	select {
	case <-l.Done():
		return nil
	case <-ctx.Done():
		return &Error{Op: op, Kind: ErrCancelled, SessionID: t.SessionID(), TerminalID: t.id, Err: context.Cause(ctx)}
	}
}

func (t *Terminal) subject() Subject {
	s := t.about
	t.mu.Lock()
	c, b := t.command, t.backend
	t.mu.Unlock()
	s.PID, s.Path, s.Args, s.Dir, s.ShellLine = b.PID(), c.Path, c.Args, c.Dir, c.ShellLine
	return s
}

// start starts the command. The terminal is registered already.
func (t *Terminal) start(ctx context.Context, where machine, command Command, allowed *authorized, s settings) error {
	defer t.started.Set()
	started, err := where.start(ctx, t, command, allowed, s)
	if err != nil {
		err = inOperation("create", t.SessionID(), dirError(t.request, err))
		t.store.commandEnded()
		t.store.Close()
		t.mu.Lock()
		t.state, t.command, t.end.err = StateFailed, command, err
		t.mu.Unlock()
		t.setEnded()
		return err
	}
	t.mu.Lock()
	t.backend, t.command, t.state, t.startedAt = started, command, StateRunning, time.Now()
	if t.timeout > 0 {
		t.timer = life.AfterFunc(t.timeout, life.Stall, func() { t.expire(EndedByTimeout) })
	}
	startedAt := t.startedAt
	t.mu.Unlock()
	t.begin(started, startedAt)
	if t.idle > 0 {
		t.busy.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			defer t.ended.OnSet(cancel)()
			if proc.AwaitIdle(ctx, t.idle, t.Processes, t.OutputTotal) {
				t.expire(EndedByIdle)
			}
		})
	}
	return t.callJournal("create", "Started", func() error {
		tree := started.(localBackend) // other commands are not in the journal
		return t.journal.Started(t.id, tree.PID(), tree.Unreaped)
	})
}

func (t *Terminal) begin(b backend, startedAt time.Time) {
	t.events.emit(&StartEvent{Subject: t.subject(), Time: startedAt, Terminal: t})
	t.busy.Add(1)
	b.OnExit(t.exited)
}
