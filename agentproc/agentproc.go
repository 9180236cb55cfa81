// Package agentproc runs an agent as a child process. Start starts the agent from an exec.Cmd and returns a connection
// to the agent's standard input and output, for acpterm.Handler.Filter. Close gracefully shuts down the agent, along
// with any processes that the agent has started.
//
//	agent, err := agentproc.Start(ctx, exec.Command("some-agent", "--acp"), nil)
//	err = agent.Close()
//	status, err := agent.Wait(ctx)
package agentproc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// Options specifies optional settings for Start. The zero value is ready to use.
type Options struct {
	// Grace is how long to wait for the agent to exit after its standard input has been closed, and then how long to
	// wait for any remaining processes to exit after they have been sent SIGTERM. If zero, it defaults to 5 seconds. If
	// negative, Close does not wait.
	Grace time.Duration

	// Stderr, if non-nil, is called with each line that the agent writes to standard error. The line is converted to
	// valid UTF-8 and does not include the line ending. Since the agent controls the text, see package display before
	// showing it to a user. Lines longer than 16 KiB are split.
	//
	// Stderr is called in order on a single goroutine. It must not call Close or Kill, because both wait for Stderr to
	// return. If Stderr panics, the panic is logged. The agent is never delayed by a slow hook: while 1 MiB of lines is
	// queued, any new lines are dropped, and the number of dropped lines is logged. If Stderr is nil, lines are logged
	// to Logger at level Info. Stderr is ignored if exec.Cmd.Stderr is set.
	Stderr func(line string)

	// Logger receives the number of dropped lines and, if Stderr is nil, the agent's standard error. If Logger is nil,
	// slog.Default() is used. Panics in Stderr are always logged to slog.Default().
	Logger *slog.Logger
}

// A Process represents an agent and all of the processes that the agent has started. It can also be used as the
// connection to the agent, for example with acpterm's Handler.Filter: Read reads from the agent's standard output, and
// Write writes to its standard input. A Process is safe for concurrent use by multiple goroutines.
//
// If the agent exits on its own, any remaining processes are terminated as if Close had been called, starting with
// SIGTERM. As a result, Read always reaches the end of the output.
type Process struct {
	cmd       *exec.Cmd
	grace     time.Duration
	processes proc.Supervisor
	tree      *proc.Tree
	stdin     *os.File
	stdout    *os.File
	stderr    *stderr // nil if the agent writes to a file of the embedder

	closing latch.Latch // Close was called
	forced  latch.Latch // Kill was called: skip to SIGKILL
	exited  latch.Latch // exit and exitErr are set
	ended   latch.Latch // all its processes have ended; waitErr and closeErr are set
	closed  latch.Latch // all its processes, goroutines and files are gone
	exit    proc.Exit
	exitErr error

	waitErr, closeErr error // valid once ended is set

	reading  sync.Mutex  // held over each read of standard output, so that its bytes stay in order
	draining latch.Latch // standard output is being read into rest
	drained  latch.Latch // rest is complete, and standard output closed
	mu       sync.Mutex
	rest     bytes.Buffer // guarded by mu, valid once drained is set
}

var _ io.ReadWriteCloser = (*Process)(nil)

const (
	defaultGrace = 5 * time.Second

	// maxRest and maxRestWait limit the reading of a pipe after the agent's end. A pipe holds less and then ends,
	// unless a process that the system does not show holds it.
	maxRest     = 1 << 20
	maxRestWait = time.Second
)

// Start starts an agent. It uses cmd in the same way as exec.Cmd.Start, except that Stdin and Stdout must be nil. Start
// takes ownership of cmd, even if it returns an error. The caller must not call any methods of cmd after that, and must
// not read cmd.ProcessState until Done has been closed. Standard error is logged unless cmd.Stderr or Options.Stderr is
// set. If options is nil, the defaults are used.
//
// On Unix, the agent becomes a session leader, in addition to having any attributes set in cmd.SysProcAttr. Close uses
// a mark in the agent's environment to find any processes that left the session. On Windows, the agent runs in a job
// object. If the host dies, the agent will see the end of its standard input and, on Windows, will also be terminated.
// If the host reaps every child, which it must not do, Wait returns ErrExitLost on versions of Linux before 6.15.
//
// ctx applies only to the call. The agent itself runs until Close is called. However, if cmd was created by
// exec.CommandContext and its context is done, the agent's process is killed, as in os/exec, and any remaining
// processes are then terminated as well.
//
// The returned error is of type *acpterm.Error. The kind is ErrCancelled if ctx is done; otherwise, it is
// ErrInvalidParams, ErrCommandNotFound, ErrNotExecutable or ErrInternal. If the kind is ErrInvalidParams, Field is one
// of "cmd", "cmd.Stdin", "cmd.Stdout", "cmd.Dir" or "cmd.SysProcAttr" (for Pgid and Foreground). To find the underlying
// error from os/exec, use errors.Is or errors.As.
func Start(ctx context.Context, cmd *exec.Cmd, options *Options) (*Process, error) {
	if err := check(ctx, cmd); err != nil {
		return nil, err
	}
	if options == nil {
		options = new(Options)
	}
	p := &Process{cmd: cmd, grace: cmp.Or(options.Grace, defaultGrace)}
	if err := p.start(*options); err != nil {
		return nil, startError(cmd, err)
	}
	p.tree.OnExit(func(exit proc.Exit, err error) {
		p.exit, p.exitErr = exit, err
		p.exited.Set()
	})
	go p.run()
	return p, nil
}

// check returns an error for a command that cannot be started as an agent.
func check(ctx context.Context, cmd *exec.Cmd) error {
	e := &acpterm.Error{Op: "start agent", Kind: acpterm.ErrInvalidParams}
	e.Reason = "must be nil: the Process is its other end"
	switch {
	case ctx.Err() != nil:
		return &acpterm.Error{Op: e.Op, Kind: acpterm.ErrCancelled, Err: context.Cause(ctx)}
	case cmd == nil || cmd.Path == "" && cmd.Err == nil:
		e.Field, e.Reason = "cmd", "names no program"
	case cmd.Process != nil:
		e.Field, e.Reason = "cmd", "was started before"
	case cmd.Stdin != nil:
		e.Field = "cmd.Stdin"
	case cmd.Stdout != nil:
		e.Field = "cmd.Stdout"
	default:
		return nil
	}
	return e
}

// start starts the process. If it fails, it leaves no process and no open file.
func (p *Process) start(options Options) error {
	its, err := p.openPipes(options)
	if err == nil {
		env := p.cmd.Env
		if env == nil {
			env = p.cmd.Environ()
		}
		mark := proc.Mark{Name: lookup.TerminalVariable, Value: "agent_" + rand.Text()}
		p.cmd.Env = lookup.Mark(env, mark.Value)
		p.tree, err = p.processes.StartCmd(p.cmd, mark)
	}
	for _, file := range its {
		file.Close()
	}
	switch {
	case err != nil:
		p.closePipes()
		p.processes.Close()
	case p.stderr != nil:
		p.stderr.start()
	}
	return err
}

// openPipes opens the pipes and returns the agent's ends.
func (p *Process) openPipes(options Options) (its []*os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return its, err
	}
	p.cmd.Stdin, p.stdin, its = r, w, append(its, r)
	if r, w, err = proc.DeadlinePipe(); err != nil {
		return its, err
	}
	p.stdout, p.cmd.Stdout, its = r, w, append(its, w)
	if _, isFile := p.cmd.Stderr.(*os.File); isFile {
		return its, nil
	}
	if r, w, err = proc.DeadlinePipe(); err != nil {
		return its, err
	}
	p.stderr = newStderr(r, p.cmd, options)
	p.cmd.Stderr, its = w, append(its, w)
	return its, nil
}

// closePipes closes this side of the open pipes. Closing a nil file is safe.
func (p *Process) closePipes() {
	p.stdin.Close()
	p.stdout.Close()
	if p.stderr != nil {
		p.stderr.pipe.Close()
	}
}

// startError returns the error for an agent that did not start.
func startError(cmd *exec.Cmd, err error) error {
	e := &acpterm.Error{Op: "start agent", Kind: acpterm.ErrInternal, Command: cmd.Path, Err: err}
	_, dirErr := os.Stat(cmp.Or(cmd.Dir, "."))
	switch {
	case errors.Is(err, proc.ErrForeignGroup):
		e.Kind, e.Field = acpterm.ErrInvalidParams, "cmd.SysProcAttr"
	case dirErr != nil: // the system's error does not distinguish it from the program
		e.Kind, e.Field, e.Err = acpterm.ErrInvalidParams, "cmd.Dir", dirErr
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.Kind = acpterm.ErrCommandNotFound
	case errors.Is(err, exec.ErrDot), lookup.IsExecFormat(err),
		errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EPERM): // EPERM is about cmd.SysProcAttr
		e.Kind = acpterm.ErrNotExecutable
	}
	return e
}

// Read reads from the agent's standard output, returning io.EOF at the end. After the agent has exited, it is still
// possible to read the rest of its output.
func (p *Process) Read(b []byte) (int, error) {
	if n, err, drains := p.readPipe(b); !drains {
		return n, err
	}
	<-p.drained.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rest.Read(b)
}

// readPipe reads the pipe, unless drain reads it.
func (p *Process) readPipe(b []byte) (n int, err error, drains bool) {
	p.reading.Lock()
	defer p.reading.Unlock()
	if p.draining.IsSet() {
		return 0, nil, true
	}
	n, err = p.stdout.Read(b)
	return n, err, n == 0 && err != nil && p.draining.IsSet()
}

// Write writes to the agent's standard input. It may block if the agent is not reading its input. Close unblocks any
// pending writes and causes subsequent writes to return os.ErrClosed.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// PID returns the process ID of the agent. Note that the system may reuse the ID once Done has been closed.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that's closed when the agent has exited and all of its other processes have either exited or
// been abandoned. Note that there may still be lines queued for Options.Stderr, or bytes queued for cmd.Stderr, until
// Close returns.
func (p *Process) Done() <-chan struct{} { return p.ended.Done() }

// Wait waits until Done is closed and returns the agent's exit status. If ctx is done before then, Wait returns
// ErrCancelled. If another part of the program reaped the agent's process, Wait returns ErrExitLost. If the process is
// still running, Wait returns the error from Close.
func (p *Process) Wait(ctx context.Context) (acpterm.TerminalExitStatus, error) {
	select {
	case <-p.ended.Done():
	case <-ctx.Done():
		if !p.ended.IsSet() {
			return acpterm.TerminalExitStatus{}, p.failed("wait for agent", acpterm.ErrCancelled, context.Cause(ctx))
		}
	}
	if p.waitErr != nil {
		return acpterm.TerminalExitStatus{}, p.waitErr
	}
	var status acpterm.TerminalExitStatus
	status.ExitCode, status.Signal = p.exit.Status()
	return status, nil
}

// Close shuts down the agent and all of the processes that the agent has started. It closes the agent's standard input,
// waits up to Grace for the agent to exit, sends SIGTERM to any remaining processes, waits up to Grace again, and
// finally sends SIGKILL. The agent's output can be read throughout.
//
// By the time Close returns, all of the agent's processes, goroutines and files have been cleaned up, unless some
// processes are still running, or may be, ten seconds after SIGKILL. In that case, Close returns ErrSurvivors and lists
// those known to be running in Error.PIDs. If the agent's own process has not exited, a goroutine continues to wait for
// it. Subsequent calls wait for the first call to finish and return the same error. If the agent has already exited on
// its own without leaving any processes behind, Close does nothing.
func (p *Process) Close() error {
	p.closing.Set()
	<-p.closed.Done()
	return p.closeErr
}

// Kill is like Close, but it immediately sends SIGKILL to all processes. It may be called concurrently with Close.
func (p *Process) Kill() error {
	p.forced.Set()
	return p.Close()
}

// run waits for the agent's exit or for Close, and ends the tree.
func (p *Process) run() {
	defer p.closed.Set()
	select {
	case <-p.exited.Done():
	case <-p.closing.Done():
		p.stdin.Close()
		grace := time.NewTimer(p.grace)
		select {
		case <-p.exited.Done():
		case <-grace.C:
		case <-p.forced.Done():
		}
		grace.Stop()
	}
	left, doubt := life.End(p.tree, &p.forced, life.Step{Signal: syscall.SIGTERM, Wait: p.grace})
	gone := left == nil && doubt == nil
	exited := gone || p.tree.HasExited()
	if exited {
		<-p.exited.Done() // the process is gone, so this is imminent
	}
	p.tree.Close()
	if exited {
		p.cmd.Wait()
		p.processes.Close()
	} else {
		go func() { // reaps the process if it ends after all
			p.cmd.Wait()
			p.processes.Close()
		}()
	}
	p.drain()

	if !gone {
		p.closeErr = p.failed("close agent", acpterm.ErrSurvivors, doubt, left...)
	}
	if !exited {
		p.waitErr = p.closeErr
	} else if p.exitErr != nil {
		p.waitErr = p.failed("wait for agent", acpterm.ErrExitLost, p.exitErr)
	}
	p.ended.Set()
	if p.stderr != nil {
		p.stderr.busy.Wait()
		p.stderr.pipe.Close()
	}
}

// drain reads the rest of standard output into p.rest, and closes the pipes of standard output and input.
func (p *Process) drain() {
	deadline := time.Now().Add(maxRestWait)
	if p.stderr != nil {
		p.stderr.pipe.SetReadDeadline(deadline)
	}
	p.draining.Set()
	p.stdout.SetReadDeadline(time.Unix(1, 0)) // ends a blocked Read
	p.reading.Lock()
	p.stdout.SetReadDeadline(deadline)
	rest, _ := io.ReadAll(io.LimitReader(p.stdout, maxRest))
	p.reading.Unlock()
	p.rest.Write(rest)
	p.drained.Set()
	p.stdin.Close()
	p.stdout.Close()
}

func (p *Process) failed(op string, kind acpterm.Kind, err error, pids ...int) error {
	return &acpterm.Error{Op: op, Kind: kind, Command: p.cmd.Path, PIDs: pids, Err: err}
}
