package acptermtest

// Process is a script's view of its process, and tree is acpterm's view of a command.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/proc"
)

// A Process represents a running Script. Its methods must only be called by the Script's goroutine, with the exception
// of Command and Context, which may be called by any goroutine.
type Process struct {
	tree   *tree
	ctx    context.Context
	cancel context.CancelFunc

	status acpterm.TerminalExitStatus // valid once done is closed
	done   chan struct{}              // closed when the script has returned

	pid  int
	idle atomic.Bool // the script waits in Block, Sleep or Await

	mu      sync.Mutex
	ignored []syscall.Signal
	caught  []syscall.Signal
	pending chan syscall.Signal // caught signals, for Await
	endedBy syscall.Signal      // the fatal signal, or 0
}

// Command returns the running command.
func (p *Process) Command() acpterm.Command { return p.tree.launch.Command }

// Limits returns the limits that the command was started with. They have no effect unless the Script calls Raise.
func (p *Process) Limits() acpterm.Limits { return p.tree.launch.Limits }

// Context returns a context that's cancelled when a signal terminates the process.
func (p *Process) Context() context.Context { return p.ctx }

// Write writes to the terminal. It returns os.ErrClosed once the terminal has been released.
func (p *Process) Write(b []byte) (int, error) {
	p.exitIfEnded()
	return p.tree.launch.Output.Write(b)
}

// Sleep pauses the Script for at least the duration d, unless a signal terminates the process.
func (p *Process) Sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	p.await(timer.C, nil)
}

// Ignore causes the given signals to be ignored. SIGKILL cannot be ignored.
func (p *Process) Ignore(signals ...syscall.Signal) {
	p.exitIfEnded()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ignored = append(p.ignored, signals...)
}

// Catch causes the given signals to be returned by Await instead of terminating the process. At most sixteen signals
// are queued. SIGKILL cannot be caught.
func (p *Process) Catch(signals ...syscall.Signal) {
	p.exitIfEnded()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caught = append(p.caught, signals...)
}

// Await waits for one of the signals passed to Catch and returns that signal.
func (p *Process) Await() syscall.Signal {
	return p.await(nil, p.pending)
}

// Raise sends a signal to the process itself, as the system does when a limit is exceeded (SIGXCPU, SIGXFSZ, SIGKILL).
// It returns only if the Script ignores or catches the signal.
func (p *Process) Raise(sig syscall.Signal) {
	p.exitIfEnded()
	p.signal(sig)
	p.exitIfEnded()
}

// Spawn starts another process in the same tree. If the new process outlives the current one, the output remains open
// and the new process still receives any signals sent to the tree.
func (p *Process) Spawn(script Script) {
	p.exitIfEnded()
	p.tree.spawn(script)
}

// LoseConnection simulates losing the connection to another machine. After that, no further output is received, and any
// attempt to wait for, kill or release the terminal fails with acpterm.ErrConnectionLost. The Script itself keeps
// running but can no longer be signalled.
func (p *Process) LoseConnection() {
	p.exitIfEnded()
	p.tree.loseConnection()
}

// await waits until the timer fires, a signal arrives or the process ends.
func (p *Process) await(timer <-chan time.Time, signals <-chan syscall.Signal) (sig syscall.Signal) {
	p.exitIfEnded()
	p.idle.Store(true)
	defer p.idle.Store(false)
	select {
	case <-timer:
	case sig = <-signals:
	case <-p.ctx.Done():
	}
	p.exitIfEnded()
	return sig
}

// exitIfEnded ends the goroutine if a signal has ended the process.
func (p *Process) exitIfEnded() {
	if p.ctx.Err() != nil {
		runtime.Goexit()
	}
}

// run runs a script to its end and sets the exit status.
func (p *Process) run(script Script) {
	defer p.tree.remove(p)
	defer close(p.done)
	defer p.cancel()
	code := uint32(1) // if the script ends its goroutine, as t.Fatal does
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.endedBy != 0 {
			p.status.Signal = new(proc.SignalName(p.endedBy))
		} else {
			p.status.ExitCode = &code
		}
	}()
	code = uint32(script(p))
}

// signal delivers a signal to the process.
func (p *Process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.endedBy != 0:
	case sig != syscall.SIGKILL && slices.Contains(p.ignored, sig):
	case sig != syscall.SIGKILL && slices.Contains(p.caught, sig):
		select {
		case p.pending <- sig:
		default:
		}
	default:
		p.endedBy = sig
		p.cancel()
	}
}

// tree is a command and its child processes. It implements acpterm.Process.
type tree struct {
	launch acpterm.StartRequest
	pid    int
	leader *Process
	gone   chan struct{} // closed when alive becomes empty, or together with lost
	lost   chan struct{} // closed by LoseConnection

	mu     sync.Mutex
	count  int // processes so far
	alive  []*Process
	unseen bool // the connection was lost before the leader ended
}

// spawn starts a process. The first process is the leader.
func (t *tree) spawn(script Script) *Process {
	p := &Process{tree: t, done: make(chan struct{}), pending: make(chan syscall.Signal, 16)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t.mu.Lock()
	p.pid = t.pid + t.count
	t.count++
	t.alive = append(t.alive, p)
	if t.leader == nil {
		t.leader = p
	}
	t.mu.Unlock()
	go p.run(script)
	return p
}

// remove removes an ended process. The last one closes the output.
func (t *tree) remove(p *Process) {
	t.mu.Lock()
	t.alive = slices.DeleteFunc(t.alive, func(other *Process) bool { return other == p })
	last := len(t.alive) == 0
	if last && t.Err() == nil {
		close(t.gone)
	}
	t.mu.Unlock()
	if last {
		t.launch.Output.Close()
	}
}

// loseConnection makes the tree fail with an error. The scripts keep running, unseen.
func (t *tree) loseConnection() {
	t.mu.Lock()
	lose := len(t.alive) > 0 && t.Err() == nil
	if lose {
		t.unseen = slices.Contains(t.alive, t.leader)
		close(t.lost)
		close(t.gone)
	}
	t.mu.Unlock()
	if lose {
		t.launch.Output.Close()
	}
}

// Wait waits for the leader's script to end.
func (t *tree) Wait() (acpterm.TerminalExitStatus, error) {
	select {
	case <-t.leader.done:
	case <-t.lost:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unseen {
		return acpterm.TerminalExitStatus{}, t.Err()
	}
	<-t.leader.done // the leader ended before the connection was lost
	return t.leader.status, nil
}

// Signal sends a signal to all processes of the tree.
func (t *tree) Signal(sig syscall.Signal) {
	t.mu.Lock()
	alive := slices.Clone(t.alive)
	t.mu.Unlock()
	for _, p := range alive {
		p.signal(sig)
	}
}

// Gone returns a channel that's closed when all scripts have returned or the connection has been lost.
func (t *tree) Gone() <-chan struct{} { return t.gone }

// Err returns the error of a lost connection, or nil.
func (t *tree) Err() error {
	select {
	case <-t.lost:
		return &acpterm.Error{Kind: acpterm.ErrConnectionLost, Reason: "acptermtest: a script has lost the connection"}
	default:
		return nil
	}
}

// errWork is why Terminal.Watch does not know the state of a script.
var errWork = fmt.Errorf("acptermtest: how much a Script works is not known: %w", errors.ErrUnsupported)

// Processes returns the processes whose scripts have not returned. A script that does not wait is taken to work.
func (t *tree) Processes(context.Context) (list []acpterm.ProcessInfo, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.Err(); err != nil {
		return nil, err
	}
	for _, p := range t.alive {
		info := acpterm.ProcessInfo{PID: p.pid, Command: t.launch.Command.String(), Runnable: !p.idle.Load()}
		if p != t.leader {
			info.Parent = t.pid
		}
		list, err = append(list, info), errWork
	}
	return list, err
}

// Limits returns all limits of the command.
func (t *tree) Limits() []acpterm.EnforcedLimit { return limitsOf(t.launch.Limits) }

// Close is a no-op, because the release has already terminated or abandoned all scripts.
func (t *tree) Close() {}

// PID returns a number that no real process has.
func (t *tree) PID() int { return t.pid }
