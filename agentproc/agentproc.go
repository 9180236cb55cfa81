// Package agentproc runs an agent as a child process. Start starts it from an exec.Cmd and returns a connection to its
// standard input and output. Close shuts it down gracefully, together with all processes it has started.
//
//	agent, err := agentproc.Start(ctx, exec.Command("some-agent", "--acp"), nil)
//	rest := h.Filter(ctx, agent) // h is an acpterm.Handler
//	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewPlainObjectStream(rest), yours)
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
	"slices"
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
	// Grace is how long to wait for the agent to exit once its standard input has been closed, and then how long to
	// wait for remaining processes after SIGTERM. The default is 5 seconds. If negative, Close does not wait.
	Grace time.Duration

	// Stderr, if non-nil, is called with each line of the agent's standard error, as valid UTF-8 without the line
	// ending. The agent chooses the text, so see package display before showing it to a user. Lines over 16 KiB are
	// split. Stderr is called in order on a single goroutine, and must not call Close or Kill, which wait for it.
	// Panics are logged. A slow hook never delays the agent: while 1 MiB of lines is queued, new ones are dropped and
	// counted in the log. If nil, lines are logged to Logger at level Info. It is ignored if exec.Cmd.Stderr is set.
	Stderr func(line string)

	// Logger receives the number of dropped lines and, if Stderr is nil, the agent's standard error. If nil,
	// slog.Default() is used. Panics in Stderr always go to slog.Default().
	Logger *slog.Logger
}

// A Process represents an agent and all processes started by it. It also serves as the connection to the agent, for use
// with acpterm's Handler.Filter: Read reads from the agent's standard output, and Write writes to its standard input.
// It is safe for concurrent use by multiple goroutines.
//
// If the agent exits by itself, its remaining processes are terminated in the same way as by Close, starting with
// SIGTERM, so Read always reaches the end of the output.
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

// Start starts an agent. It uses cmd like exec.Cmd.Start, except that Stdin and Stdout must be nil. From then on, the
// Process owns cmd, even if Start fails, so do not call its methods, and read cmd.ProcessState only after Done.
// Standard error is logged unless cmd.Stderr or Options.Stderr is set. If options is nil, the defaults are used.
//
// On Unix, the agent leads its own session, in addition to any attributes in cmd.SysProcAttr, and Close finds processes
// that have left the session by a mark in the agent's environment. On Windows, the agent runs in a job object. If the
// host dies, the agent sees the end of its standard input, and on Windows it is also terminated. Manager.Reaped does
// not support agents: if the host reaps every child, Wait returns ErrExitLost on Linux before 6.15.
//
// ctx limits the call but not the agent, which runs until Close is called. If cmd comes from exec.CommandContext, its
// context kills the agent's process when done, as in os/exec. The remaining processes are then terminated too.
//
// Errors are of type *acpterm.Error. The kind is ErrCancelled if ctx is done; ErrInvalidParams with Field "cmd",
// "cmd.Stdin", "cmd.Stdout", "cmd.Dir" or "cmd.SysProcAttr" (for Pgid and Foreground); ErrCommandNotFound;
// ErrNotExecutable; or ErrInternal. Use errors.Is and errors.As to find the underlying error of os/exec.
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
	if r, w, err = deadlinePipe(); err != nil {
		return its, err
	}
	p.stdout, p.cmd.Stdout, its = r, w, append(its, w)
	if _, isFile := p.cmd.Stderr.(*os.File); isFile {
		return its, nil
	}
	if r, w, err = deadlinePipe(); err != nil {
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

// Read reads from the agent's standard output, returning io.EOF at the end. After the agent has exited, the rest of its
// output can still be read.
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

// Write writes to the agent's standard input. It may block if the agent is not reading. Close unblocks pending writes
// and makes subsequent ones return os.ErrClosed.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// PID returns the process ID of the agent. Once Done has been closed, the system may reuse the ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that's closed when the agent has exited and its other processes have exited or been abandoned.
// Until Close returns, lines for Options.Stderr or bytes for cmd.Stderr may still be queued.
func (p *Process) Done() <-chan struct{} { return p.ended.Done() }

// Wait waits until Done is closed and returns the agent's exit status, or ErrCancelled if ctx is done first. It returns
// ErrExitLost if another part of the program reaped the process, and Close's error if the process is still running.
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

// Close shuts down the agent and all processes started by it. It closes the agent's standard input, waits up to Grace
// for the agent to exit, sends SIGTERM to the remaining processes, waits up to Grace again, and sends SIGKILL. The
// agent's output can be read throughout.
//
// When Close returns, all of the agent's processes, goroutines and files are gone, except for processes still running
// ten seconds after SIGKILL. In that case, Close returns ErrSurvivors and lists the processes in Error.PIDs. If the
// agent's own process is among them, a goroutine keeps waiting for it. Subsequent calls wait for the first and return
// the same error. Close does nothing if the agent has exited by itself and left no processes.
func (p *Process) Close() error {
	p.closing.Set()
	<-p.closed.Done()
	return p.closeErr
}

// Kill is like Close but sends SIGKILL to all processes immediately. It may be called concurrently with Close.
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
	survivors := life.End(p.tree, &p.forced, life.Step{Signal: syscall.SIGTERM, Wait: p.grace})
	exited := !slices.Contains(survivors, p.cmd.Process.Pid)
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

	if len(survivors) > 0 {
		p.closeErr = p.failed("close agent", acpterm.ErrSurvivors, nil, survivors...)
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
