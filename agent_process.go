package acpterm

// An agent's process: its start from an exec.Cmd, its standard input and output as a connection, and its end.
// agent_stderr.go has its standard error.

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

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// AgentOptions are how StartAgent deals with an agent. The zero value, and nil in its place, is the default.
type AgentOptions struct {
	// Grace is how long the agent may take to exit when its standard input has ended, and then what is left of it when
	// it was sent SIGTERM. 0: 5 seconds each. Negative: no time.
	Grace time.Duration

	// Stderr is called with each line that the agent writes to standard error, without its end, in valid UTF-8. The
	// text is the agent's: see the package display before showing it to a person. A line of more than 16 KiB comes in
	// pieces. It is called from one goroutine, in order, and must call neither Close nor Kill, which wait for it. A
	// panic is logged. While it does not return, 1 MiB of lines waits and more are dropped, so that the agent never
	// waits; how many is logged. Nil: Logger has the lines, at level Info. With exec.Cmd.Stderr set it is not called.
	Stderr func(line string)

	// Logger is for what the agent writes. Nil: slog.Default(), which a panic of Stderr goes to in any case.
	Logger *slog.Logger
}

// Agent is an agent's process, with all that it starts. It is the connection to it, for NewStream: Read reads the
// agent's standard output, Write writes to its standard input. All methods may be called concurrently.
//
// What the agent leaves running when it exits by itself is ended as by Close, from SIGTERM on, so that Read comes to an
// end.
type Agent struct {
	cmd       *exec.Cmd
	grace     time.Duration
	processes proc.Supervisor
	tree      *proc.Tree
	stdin     *os.File
	stdout    *os.File
	stderr    *agentStderr // nil: the agent writes to a file of the embedder's

	closing latch.Latch // Close was called
	forced  latch.Latch // what is left of the steps is to be skipped
	exited  latch.Latch // exit and exitErr are set
	ended   latch.Latch // no process of it is left; status, waitErr and closeErr are set
	closed  latch.Latch // nothing of it is left
	exit    proc.Exit
	exitErr error

	status            TerminalExitStatus
	waitErr, closeErr error

	reading  sync.Mutex  // held over each read of standard output, so that its bytes stay in order
	draining latch.Latch // standard output is being read into rest
	drained  latch.Latch // it was, and is closed
	mu       sync.Mutex
	rest     bytes.Buffer // under mu, once drained
}

var _ io.ReadWriteCloser = (*Agent)(nil)

const (
	defaultGrace = 5 * time.Second

	// maxRest bounds what is read of a pipe whose agent is gone, in bytes and time: a pipe holds no more, and is at its
	// end then, unless a process holds it that the system does not show.
	maxRest     = 1 << 20
	maxRestWait = time.Second
)

// StartAgent starts an agent. cmd is as for exec.Cmd.Start, with neither Stdin nor Stdout. The Agent owns it from here
// on, also if StartAgent fails: call none of its methods, and read ProcessState after Done at the earliest. Unless
// Stderr is set, lines on standard error are logged.
//
// On Unix the agent gets a session of its own, besides what cmd.SysProcAttr asks for, and in its environment a mark by
// which processes that leave the session are found; on Windows a job object. When the host dies, the agent's standard
// input ends, and on Windows the agent does. Manager.Reaped is not for agents: in a host that reaps every child, Wait
// fails with ErrExitLost before Linux 6.15.
//
// ctx bounds the call, and not the agent's life: call Close. A context of exec.CommandContext kills the agent's process
// when it ends, as os/exec does; the rest follows.
//
// It fails with an *Error: ErrCancelled when ctx has ended; ErrInvalidParams with Field "cmd", "cmd.Stdin",
// "cmd.Stdout", "cmd.Dir" or "cmd.SysProcAttr" (Pgid and Foreground cannot hold); ErrCommandNotFound;
// ErrNotExecutable; or ErrInternal. errors.Is and errors.As also find what os/exec returned.
func StartAgent(ctx context.Context, cmd *exec.Cmd, options *AgentOptions) (*Agent, error) {
	if err := checkAgent(ctx, cmd); err != nil {
		return nil, err
	}
	if options == nil {
		options = new(AgentOptions)
	}
	a := &Agent{cmd: cmd, grace: cmp.Or(options.Grace, defaultGrace)}
	if err := a.start(*options); err != nil {
		return nil, agentError(cmd, err)
	}
	a.tree.OnExit(func(exit proc.Exit, err error) {
		a.exit, a.exitErr = exit, err
		a.exited.Set()
	})
	go a.run()
	return a, nil
}

// checkAgent fails for a command that cannot be started as an agent.
func checkAgent(ctx context.Context, cmd *exec.Cmd) error {
	e := &Error{Op: "start agent", Kind: ErrInvalidParams, Reason: "is to be nil: the Agent is its other end"}
	switch {
	case ctx.Err() != nil:
		return &Error{Op: e.Op, Kind: ErrCancelled, Err: context.Cause(ctx)}
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

// start starts the process, or leaves nothing.
func (a *Agent) start(options AgentOptions) error {
	its, err := a.openPipes(options)
	if err == nil {
		env := a.cmd.Env
		if env == nil {
			env = a.cmd.Environ()
		}
		mark := proc.Mark{Name: lookup.TerminalVariable, Value: "agent_" + rand.Text()}
		a.cmd.Env = markEnv(env, TerminalID(mark.Value))
		a.tree, err = a.processes.StartCmd(a.cmd, mark)
	}
	for _, file := range its {
		file.Close()
	}
	switch {
	case err != nil:
		a.closePipes()
		a.processes.Close()
	case a.stderr != nil:
		a.stderr.start()
	}
	return err
}

// openPipes opens the pipes, and returns the agent's ends of them.
func (a *Agent) openPipes(options AgentOptions) (its []*os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return its, err
	}
	a.cmd.Stdin, a.stdin, its = r, w, append(its, r)
	if r, w, err = deadlinePipe(); err != nil {
		return its, err
	}
	a.stdout, a.cmd.Stdout, its = r, w, append(its, w)
	if _, isFile := a.cmd.Stderr.(*os.File); isFile {
		return its, nil
	}
	if r, w, err = deadlinePipe(); err != nil {
		return its, err
	}
	a.stderr = newAgentStderr(r, a.cmd, options)
	a.cmd.Stderr, its = w, append(its, w)
	return its, nil
}

// closePipes closes this end of the pipes that were opened: a nil file may be closed.
func (a *Agent) closePipes() {
	a.stdin.Close()
	a.stdout.Close()
	if a.stderr != nil {
		a.stderr.pipe.Close()
	}
}

// agentError is the error for an agent that did not start.
func agentError(cmd *exec.Cmd, err error) error {
	e := &Error{Op: "start agent", Kind: ErrInternal, Command: cmd.Path, Err: err}
	_, dirErr := os.Stat(cmp.Or(cmd.Dir, "."))
	switch {
	case errors.Is(err, proc.ErrForeignGroup):
		e.Kind, e.Field = ErrInvalidParams, "cmd.SysProcAttr"
	case dirErr != nil: // the system's error does not tell it from the program
		e.Kind, e.Field, e.Err = ErrInvalidParams, "cmd.Dir", dirErr
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.Kind = ErrCommandNotFound
	case errors.Is(err, exec.ErrDot), isExecFormat(err),
		errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EPERM): // EPERM is about cmd.SysProcAttr
		e.Kind = ErrNotExecutable
	}
	return e
}

// Read reads what the agent writes to its standard output; io.EOF when that has ended. After the agent's end it still
// returns what was not read.
func (a *Agent) Read(p []byte) (int, error) {
	if n, err, drains := a.readPipe(p); !drains {
		return n, err
	}
	<-a.drained.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rest.Read(p)
}

// readPipe reads the pipe, unless drain reads it.
func (a *Agent) readPipe(p []byte) (n int, err error, drains bool) {
	a.reading.Lock()
	defer a.reading.Unlock()
	if a.draining.IsSet() {
		return 0, nil, true
	}
	n, err = a.stdout.Read(p)
	return n, err, n == 0 && err != nil && a.draining.IsSet()
}

// Write writes to the agent's standard input. It waits while the agent does not read. It fails with os.ErrClosed after
// Close, which also ends a Write that waits.
func (a *Agent) Write(p []byte) (int, error) { return a.stdin.Write(p) }

// PID is the number of the agent's process. After Done it may be another's.
func (a *Agent) PID() int { return a.cmd.Process.Pid }

// Done returns a channel that is closed when the agent has exited and what it started has ended or been given up. Lines
// of its standard error may still wait for the hook, and a Writer of the embedder's for bytes, until Close returns.
func (a *Agent) Done() <-chan struct{} { return a.ended.Done() }

// Wait returns how the agent ended, once Done is closed. It fails with ErrCancelled when ctx ends first, with
// ErrExitLost when another part of the program reaped the process, and with what Close returns when the agent's own
// process still runs.
func (a *Agent) Wait(ctx context.Context) (TerminalExitStatus, error) {
	select {
	case <-a.ended.Done():
	case <-ctx.Done():
		if !a.ended.IsSet() {
			return TerminalExitStatus{}, a.failed("wait for agent", ErrCancelled, context.Cause(ctx))
		}
	}
	return a.status.clone(), a.waitErr
}

// Close ends the agent and what it started: it closes the agent's standard input, waits Grace for the agent to exit,
// sends SIGTERM to what is left of the tree, waits Grace again, and sends SIGKILL. Read goes on until then.
//
// Then there is no process, goroutine or file of the agent's left, but for the processes that it reports, with
// ErrSurvivors and Error.PIDs, and what waits for the agent's own if that is one of them: what runs ten seconds after
// SIGKILL. A second call waits for the first and returns the same. After an agent that has exited by itself, with
// nothing left, it does nothing.
func (a *Agent) Close() error {
	a.closing.Set()
	<-a.closed.Done()
	return a.closeErr
}

// Kill is Close without grace: the tree is sent SIGKILL at once, also while a Close is under way.
func (a *Agent) Kill() error {
	a.forced.Set()
	return a.Close()
}

// run ends the agent when it has exited or is to end.
func (a *Agent) run() {
	defer a.closed.Set()
	select {
	case <-a.exited.Done():
	case <-a.closing.Done():
		a.stdin.Close()
		grace := time.NewTimer(a.grace)
		select {
		case <-a.exited.Done():
		case <-grace.C:
		case <-a.forced.Done():
		}
		grace.Stop()
	}
	survivors := life.End(a.tree, &a.forced, life.Step{Signal: syscall.SIGTERM, Wait: a.grace})
	exited := !slices.Contains(survivors, a.cmd.Process.Pid)
	if exited {
		<-a.exited.Done() // its process is gone, so this is near
	}
	a.tree.Close()
	if exited {
		a.cmd.Wait()
		a.processes.Close()
	} else {
		go func() { // reaps it, should it end after all
			a.cmd.Wait()
			a.processes.Close()
		}()
	}
	a.drain()

	if len(survivors) > 0 {
		a.closeErr = a.failed("close agent", ErrSurvivors, nil, survivors...)
	}
	switch {
	case !exited:
		a.waitErr = a.closeErr
	case a.exitErr != nil:
		a.waitErr = a.failed("wait for agent", ErrExitLost, a.exitErr)
	default:
		a.status = statusOf(a.exit)
	}
	a.ended.Set()
	if a.stderr != nil {
		a.stderr.busy.Wait()
		a.stderr.pipe.Close()
	}
}

// drain reads what is left in the pipe of standard output, and closes that and standard input's.
func (a *Agent) drain() {
	deadline := time.Now().Add(maxRestWait)
	if a.stderr != nil {
		a.stderr.pipe.SetReadDeadline(deadline)
	}
	a.draining.Set()
	a.stdout.SetReadDeadline(time.Unix(1, 0)) // ends a Read that waits
	a.reading.Lock()
	a.stdout.SetReadDeadline(deadline)
	rest, _ := io.ReadAll(io.LimitReader(a.stdout, maxRest))
	a.reading.Unlock()
	a.rest.Write(rest)
	a.drained.Set()
	a.stdin.Close()
	a.stdout.Close()
}

func (a *Agent) failed(op string, kind Kind, err error, pids ...int) error {
	return &Error{Op: op, Kind: kind, Command: a.cmd.Path, PIDs: pids, Err: err}
}
