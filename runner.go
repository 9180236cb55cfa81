package acpterm

// Commands that run somewhere else than on this system: a Runner looks up what it is asked for and starts it. Here is
// what a terminal sees of it. All that is promised of terminals is promised of these, as far as the Runner keeps its part.

import (
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Runner runs commands in this system's place: in the imagination of a test (the package acptermtest has one), in a
// container, on another machine. Its methods must be safe for concurrent use.
type Runner interface {
	// Look returns the file of the program that c.Args[0] names, an absolute path, as a start of c would find it: with the
	// PATH of c.Env, in c.Dir. It follows links, if there are any. For a shell line the program is "sh". It fails with an
	// *Error of kind ErrCommandNotFound or ErrNotExecutable, or ErrInvalidParams with the field "cwd" if it has no such
	// directory. Policies are asked after it.
	Look(ctx context.Context, c Command) (path string, err error)

	// Start starts a command. When ctx ends before Start returns, nothing must be left running. It fails with an *Error,
	// which the agent is told; any other error is ErrInternal.
	Start(ctx context.Context, l Launch) (Process, error)
}

// Launch is what a Runner starts.
type Launch struct {
	SessionID  SessionID
	TerminalID TerminalID
	// Command is what was allowed. Its Env has the variable ACPTERM_TERMINAL with, at its end, the terminal's id, which
	// tells what belongs to it from everything else.
	Command Command
	// Limits are what the command may use. Start has to fail if it cannot see to one.
	Limits Limits
	// Output takes what the command and those that it started write, standard output and standard error together, and
	// copies it: a Write waits for nothing. The Runner closes it when nobody is left who could write, which may be long after
	// the command's end. After a release a Write fails with os.ErrClosed. Its methods may be called concurrently.
	Output io.WriteCloser
}

// Process is a command that a Runner has started, and what that started: a tree. Its methods may be called
// concurrently, and after its end, too.
type Process interface {
	// Wait returns how the command ended, when it has and when all that it wrote itself has been written to
	// Launch.Output, whatever it left running. It is called once.
	Wait() (TerminalExitStatus, error)
	// Signal sends a signal to the whole tree, and waits for nothing. SIGKILL ends all of it.
	Signal(sig syscall.Signal)
	// Gone is closed when nothing of the tree is left. Wait returns then, if it has not before.
	Gone() <-chan struct{}
	// PID is the number of the command's process where it runs, for people: events and errors have it.
	PID() int
}

// runnerTree is a Runner's Process as a tree, and as the source of its output.
type runnerTree struct {
	process Process
	output  *runnerOutput
}

// startElsewhere is startGroup with a Runner.
func startElsewhere(ctx context.Context, r Runner, l Launch, ring *ringBuffer) (*runnerTree, error) {
	output := &runnerOutput{ring: ring}
	l.Output = output
	process, err := r.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	return &runnerTree{process, output}, nil
}

func (t *runnerTree) onExit(busy *sync.WaitGroup, f func(exit, error)) {
	busy.Go(func() { f(t.awaitExit()) })
}

func (t *runnerTree) awaitExit() (exit, error) {
	status, err := t.process.Wait()
	switch {
	case err != nil:
		return exit{}, err
	case status.Signal != nil:
		return exit{signal: *status.Signal}, nil
	case status.ExitCode != nil:
		return exit{code: *status.ExitCode}, nil
	}
	return exit{}, &Error{Kind: ErrInternal, Reason: "the Runner's exit status has neither a code nor a signal"}
}

func (t *runnerTree) isGone() bool {
	select {
	case <-t.process.Gone():
		return true
	default:
		return false
	}
}

func (t *runnerTree) end(ctx context.Context, sig syscall.Signal) (gone bool, left []int) {
	t.process.Signal(sig)
	select {
	case <-t.process.Gone():
		return true, nil
	case <-ctx.Done():
		return false, []int{t.process.PID()}
	}
}

func (t *runnerTree) leader() int             { return t.process.PID() }
func (t *runnerTree) limits() []EnforcedLimit { return nil }
func (t *runnerTree) close()                  {}

// What a capture does by reading a pipe, the Runner has done by writing.
func (t *runnerTree) begin(*sync.WaitGroup) {}
func (t *runnerTree) drain(f func())        { f() }
func (t *runnerTree) stop()                 { t.output.Close() }
func (t *runnerTree) over() bool            { return t.output.over() }

// runnerOutput is Launch.Output. Its methods may be called concurrently.
type runnerOutput struct {
	mu     sync.Mutex // over copies in memory
	ring   *ringBuffer
	closed bool
}

// Write makes p part of the output.
func (o *runnerOutput) Write(p []byte) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0, os.ErrClosed
	}
	for n < len(p) {
		part := copy(o.ring.reserve(min(len(p)-n, maxReserve)), p[n:])
		o.ring.commit(part)
		n += part
	}
	return n, nil
}

// Close says that there is no more. A second one does nothing.
func (o *runnerOutput) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.ring.close()
	}
	return nil
}

func (o *runnerOutput) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// lookups is how the names in a request become a command: on this system, or where a Runner runs it. The zero value is
// this system.
type lookups struct{ runner Runner }

// dir returns the directory that a command will run in: what the request asks for, else the fallback, else the host's
// own.
func (l lookups) dir(cwd, fallback string) (string, error) {
	if l.runner == nil || cwd == "" && fallback == "" {
		return resolveDir(cwd, fallback)
	}
	if cwd == "" {
		cwd = fallback
	}
	switch { // what is absolute there need not be so here
	case filepath.IsAbs(cwd):
		return filepath.Clean(cwd), nil
	case path.IsAbs(cwd):
		return path.Clean(cwd), nil
	}
	return "", invalidField("cwd", "must be an absolute path")
}

// program returns the file of a command's program.
func (l lookups) program(ctx context.Context, c Command) (string, error) {
	if l.runner == nil {
		return lookProgram(c.Args[0], c.Dir, c.Env)
	}
	return l.runner.Look(ctx, c)
}

// shell makes c run a line.
func (l lookups) shell(ctx context.Context, c Command, line string) (_ Command, err error) {
	c.ShellLine = line
	if l.runner == nil {
		c.Path, c.Args, err = systemShell(line, c.Env)
		return c, err
	}
	c.Args = []string{"sh", "-c", line}
	c.Path, err = l.runner.Look(ctx, c)
	return c, err
}

// real returns a program's file without links.
func (l lookups) real(path string) (string, error) {
	if l.runner == nil {
		return filepath.EvalSymlinks(path)
	}
	return path, nil
}

// roots are directories without links.
func (l lookups) roots(roots []string) ([]string, error) {
	if l.runner == nil {
		return resolveRoots(roots)
	}
	cleaned := slices.Clone(roots)
	for i, root := range roots {
		dir, err := l.dir(root, root)
		if err != nil || root == "" {
			return nil, invalidField(rootField(i), "must be an absolute path")
		}
		cleaned[i] = dir
	}
	return cleaned, nil
}
