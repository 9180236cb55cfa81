package acptermtest

// A made-up process, as its script sees it, and the tree that it and its children are, as acpterm does.

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

// Process is what a Script has to do with the world. Its methods are for the script's own goroutine, but for Command
// and Context, which may be called concurrently with everything.
type Process struct {
	tree *tree
	ctx  context.Context
	end  context.CancelFunc

	status acpterm.TerminalExitStatus // once done
	done   chan struct{}              // closed when the script has returned

	mu      sync.Mutex
	ignored []syscall.Signal
	caught  []syscall.Signal
	arrived chan syscall.Signal // signals that are caught
	endedBy syscall.Signal      // 0: none did
}

// Command is what was started.
func (p *Process) Command() acpterm.Command { return p.tree.launch.Command }

// Context ends when a signal ends the process.
func (p *Process) Context() context.Context { return p.ctx }

// Write prints. Its error is os.ErrClosed after the terminal's release.
func (p *Process) Write(b []byte) (int, error) {
	p.live()
	return p.tree.launch.Output.Write(b)
}

// Sleep lets time pass: that of the bubble, in one of testing/synctest.
func (p *Process) Sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	p.await(timer.C, nil)
}

// Ignore has signals do nothing from now on. SIGKILL cannot be ignored.
func (p *Process) Ignore(signals ...syscall.Signal) {
	p.live()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ignored = append(p.ignored, signals...)
}

// Catch has signals not end the process any more, but keeps them, up to sixteen, for Await. SIGKILL cannot be caught.
func (p *Process) Catch(signals ...syscall.Signal) {
	p.live()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caught = append(p.caught, signals...)
}

// Await returns when a signal has come that Catch keeps, and which.
func (p *Process) Await() syscall.Signal {
	return p.await(nil, p.arrived)
}

// Spawn starts another process in the tree, which outlives this one unless it ends before: it holds the output, and
// gets the tree's signals.
func (p *Process) Spawn(script Script) {
	p.live()
	p.tree.spawn(script)
}

// await returns when the time or a signal has come.
func (p *Process) await(timer <-chan time.Time, signals <-chan syscall.Signal) (sig syscall.Signal) {
	p.live()
	select {
	case <-timer:
	case sig = <-signals:
	case <-p.ctx.Done():
	}
	p.live()
	return sig
}

// live does not return when a signal has ended the process.
func (p *Process) live() {
	if p.ctx.Err() != nil {
		runtime.Goexit()
	}
}

// run is the goroutine of a script.
func (p *Process) run(script Script) {
	defer p.tree.ended(p)
	defer close(p.done)
	defer p.end()
	code := uint32(1) // of a script that has itself not returned, such as one that failed its test
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

// signal is what a signal does to the process.
func (p *Process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.endedBy != 0:
	case sig != syscall.SIGKILL && slices.Contains(p.ignored, sig):
	case sig != syscall.SIGKILL && slices.Contains(p.caught, sig):
		select {
		case p.arrived <- sig:
		default:
		}
	default:
		p.endedBy = sig
		p.end()
	}
}

// signalNames are those of the signals that there are on every system.
var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGABRT: "SIGABRT",
	syscall.SIGKILL: "SIGKILL", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM",
}

// signalName is a signal's POSIX name, or its number for those that not every system has.
func signalName(sig syscall.Signal) string {
	if name, ok := signalNames[sig]; ok {
		return name
	}
	return fmt.Sprintf("SIG%d", int(sig))
}

// tree is a command with what it started: an acpterm.Process.
type tree struct {
	launch acpterm.Launch
	pid    int
	leader *Process
	gone   chan struct{} // closed when no process is left

	mu    sync.Mutex
	alive []*Process
}

func newTree(l acpterm.Launch, pid int) *tree {
	return &tree{launch: l, pid: pid, gone: make(chan struct{})}
}

// spawn starts a process.
func (t *tree) spawn(script Script) *Process {
	p := &Process{tree: t, done: make(chan struct{}), arrived: make(chan syscall.Signal, 16)}
	p.ctx, p.end = context.WithCancel(context.Background())
	t.mu.Lock()
	t.alive = append(t.alive, p)
	t.mu.Unlock()
	go p.run(script)
	return p
}

// ended takes a process out of the tree.
func (t *tree) ended(p *Process) {
	t.mu.Lock()
	t.alive = slices.DeleteFunc(t.alive, func(other *Process) bool { return other == p })
	last := len(t.alive) == 0
	t.mu.Unlock()
	if last {
		t.launch.Output.Close()
		close(t.gone)
	}
}

// Wait returns when the command's own script has ended.
func (t *tree) Wait() (acpterm.TerminalExitStatus, error) {
	<-t.leader.done
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

// Gone is closed when every script has ended.
func (t *tree) Gone() <-chan struct{} { return t.gone }

// PID is a number that no process has.
func (t *tree) PID() int { return t.pid }
