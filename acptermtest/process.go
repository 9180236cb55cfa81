package acptermtest

// Process, as a script sees it, and the tree of such processes, as acpterm sees it.

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
)

// Process is a running Script. Only Command and Context may be called from other goroutines than the script's own.
type Process struct {
	tree   *tree
	ctx    context.Context
	cancel context.CancelFunc

	status acpterm.TerminalExitStatus // valid once done is closed
	done   chan struct{}              // closed when the script has returned

	mu      sync.Mutex
	ignored []syscall.Signal
	caught  []syscall.Signal
	pending chan syscall.Signal // caught signals, for Await
	endedBy syscall.Signal      // 0: no signal
}

// Command is the command that was started.
func (p *Process) Command() acpterm.Command { return p.tree.launch.Command }

// Context ends when a signal ends the process.
func (p *Process) Context() context.Context { return p.ctx }

// Write writes to the terminal. It returns os.ErrClosed after the terminal's release.
func (p *Process) Write(b []byte) (int, error) {
	p.exitIfEnded()
	return p.tree.launch.Output.Write(b)
}

// Sleep is time.Sleep that a signal can end.
func (p *Process) Sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	p.await(timer.C, nil)
}

// Ignore makes the process ignore signals. SIGKILL cannot be ignored.
func (p *Process) Ignore(signals ...syscall.Signal) {
	p.exitIfEnded()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ignored = append(p.ignored, signals...)
}

// Catch makes signals not end the process but queue, up to sixteen, for Await. SIGKILL cannot be caught.
func (p *Process) Catch(signals ...syscall.Signal) {
	p.exitIfEnded()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caught = append(p.caught, signals...)
}

// Await waits for a signal that is caught, and returns it.
func (p *Process) Await() syscall.Signal {
	return p.await(nil, p.pending)
}

// Spawn starts another process in the tree. The end of this one does not end it: it keeps the output open, and receives
// the tree's signals.
func (p *Process) Spawn(script Script) {
	p.exitIfEnded()
	p.tree.spawn(script)
}

// LoseConnection has the terminal see what it sees when a connection to another machine is lost: waits, kills and the
// release fail with acpterm.ErrConnectionLost, and no more output comes. The script runs on; no signal reaches it.
func (p *Process) LoseConnection() {
	p.exitIfEnded()
	p.tree.loseConnection()
}

// await waits for the timer or a signal.
func (p *Process) await(timer <-chan time.Time, signals <-chan syscall.Signal) (sig syscall.Signal) {
	p.exitIfEnded()
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

// run runs a script to its end.
func (p *Process) run(script Script) {
	defer p.tree.remove(p)
	defer close(p.done)
	defer p.cancel()
	code := uint32(1) // of a script that ended its goroutine itself, as t.Fatal does
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.endedBy != 0 {
			p.status.Signal = new(signalName(p.endedBy))
		} else {
			p.status.ExitCode = &code
		}
	}()
	code = uint32(script(p))
}

// signal delivers a signal.
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

// signalNames has the signals that every system's package syscall has.
var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGABRT: "SIGABRT",
	syscall.SIGKILL: "SIGKILL", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM",
}

// signalName returns a signal's POSIX name, or its number for a signal that not every system has.
func signalName(sig syscall.Signal) string {
	if name, ok := signalNames[sig]; ok {
		return name
	}
	return fmt.Sprintf("SIG%d", int(sig))
}

// tree is a command and its children: an acpterm.Process.
type tree struct {
	launch acpterm.StartRequest
	pid    int
	leader *Process
	gone   chan struct{} // closed when alive is empty, or with lost
	lost   chan struct{} // closed by LoseConnection

	mu     sync.Mutex
	alive  []*Process
	unseen bool // the connection was lost before the leader ended
}

// spawn starts a process. The first is the leader.
func (t *tree) spawn(script Script) *Process {
	p := &Process{tree: t, done: make(chan struct{}), pending: make(chan syscall.Signal, 16)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t.mu.Lock()
	t.alive = append(t.alive, p)
	if t.leader == nil {
		t.leader = p
	}
	t.mu.Unlock()
	go p.run(script)
	return p
}

// remove removes a process that has ended. The last one closes the output.
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

// loseConnection closes gone with an error. The scripts run on, unseen.
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
	<-t.leader.done // it ended before the connection was lost
	return t.leader.status, nil
}

// Signal sends a signal to every process of the tree.
func (t *tree) Signal(sig syscall.Signal) {
	t.mu.Lock()
	alive := slices.Clone(t.alive)
	t.mu.Unlock()
	for _, p := range alive {
		p.signal(sig)
	}
}

// Gone is closed when every script has ended, or the connection was lost.
func (t *tree) Gone() <-chan struct{} { return t.gone }

// Err is the error of a connection that was lost.
func (t *tree) Err() error {
	select {
	case <-t.lost:
		return &acpterm.Error{Kind: acpterm.ErrConnectionLost, Reason: "acptermtest: a script has lost the connection"}
	default:
		return nil
	}
}

// Limits returns none.
func (t *tree) Limits() []acpterm.EnforcedLimit { return nil }

// Close does nothing: a release has ended the scripts, or gives them up.
func (t *tree) Close() {}

// PID returns a number that no process has.
func (t *tree) PID() int { return t.pid }
