package remote

// The Transport that is a command line: its process, and what is read and written of that.

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/life"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/internal/proc"
)

// Command is a Transport by a command line that runs a shell at the far end, such as "ssh host", "docker exec -i name
// sh", "podman exec -i name sh", "kubectl exec -i pod -- sh" or "wsl.exe --exec sh". The shell's standard input and
// output are the command's; there must be no PTY between them. Errors have the end of what the command writes to its
// standard error, up to 4 KiB.
//
// When the command's process ends, the connection has ended, whatever else still holds its input and output: processes
// that it leaves, such as the one that ssh keeps connections open with, go on. Closing the connection closes the
// command's standard input and waits up to ten seconds for the process to end, or half a second if the helper does not
// run yet; then what is left of its tree is sent SIGTERM, and SIGKILL two seconds later. The process has a session of
// its own, so that nothing asks for passwords on the host's terminal. On Windows it is in a job object, which ends with
// the host, and is terminated.
type Command struct {
	// Args are the program, found as exec.Command does, and its arguments.
	Args []string
	// Env is the environment, "NAME=value". Nil: this process's without what systems set ssh and wsl.exe up to pass on
	// to the far end: LANG, LANGUAGE, LC_*, XMODIFIERS, COLORTERM, NO_COLOR and WSLENV. Other variables that the
	// user's own ssh_config sends do arrive there.
	Env []string
}

const (
	maxStderr    = 4 << 10
	maxLeft      = 1 << 20 // bytes in a pipe, at the most
	commandGrace = 10 * time.Second
	commandAbort = 500 * time.Millisecond
	commandTerm  = 2 * time.Second

	commandLastWords = time.Second
)

// Open starts the command.
func (c Command) Open(ctx context.Context) (io.ReadWriteCloser, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if len(c.Args) == 0 {
		return nil, errors.New("remote: Command.Args is empty")
	}
	p := &commandProcess{cmd: exec.Command(c.Args[0], c.Args[1:]...)}
	if p.cmd.Env = c.Env; c.Env == nil {
		p.cmd.Env = slices.DeleteFunc(os.Environ(), isPassedOn)
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

// isPassedOn reports whether systems set programs up to pass a variable on to the far end: Debian's and Red Hat's
// ssh_config have SendEnv, and WSLENV names variables. On Windows, names may be in lower case.
func isPassedOn(variable string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(variable), "=")
	switch name {
	case "LANG", "LANGUAGE", "XMODIFIERS", "COLORTERM", "NO_COLOR", "WSLENV":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// commandProcess is a Command's process. Its methods may be called concurrently.
type commandProcess struct {
	cmd       *exec.Cmd
	processes proc.Supervisor
	tree      *proc.Tree
	stdin     *os.File
	stdout    *os.File
	stderr    *os.File

	closing latch.Latch // Close was called
	aborted latch.Latch // the end is not to wait long for the process
	exited  latch.Latch // exit and exitErr are set
	ended   latch.Latch // the rest of standard output is in rest
	silent  latch.Latch // all of standard error is in said
	closed  latch.Latch // nothing of it is left
	exit    proc.Exit
	exitErr error

	reading sync.Mutex     // held over each read of standard output, so that its bytes stay in order
	rest    bytes.Buffer   // under reading, once ended
	said    end            // what was written to standard error
	hearing sync.WaitGroup // the goroutine that reads standard error
	busy    sync.WaitGroup // the others
}

// start starts the process, or leaves nothing.
func (p *commandProcess) start() error {
	var its []*os.File
	open := func(ours, other **os.File, pipe func() (r, w *os.File, err error)) error {
		r, w, err := pipe()
		if *ours = r; ours == &p.stdin {
			*ours, w = w, r
		}
		*other, its = w, append(its, w)
		return err
	}
	var stdin, stdout, stderr *os.File
	err := open(&p.stdin, &stdin, os.Pipe)
	if err == nil {
		err = open(&p.stdout, &stdout, deadlinePipe)
	}
	if err == nil {
		err = open(&p.stderr, &stderr, deadlinePipe)
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
		mark := proc.Mark{Name: lookup.TerminalVariable, Value: rand.Text()} // no process has it
		p.tree, err = p.processes.StartCmd(p.cmd, mark)
	}
	for _, file := range its {
		file.Close()
	}
	if err != nil {
		p.closePipes()
		p.processes.Close()
		return err
	}
	p.tree.OnExit(func(exit proc.Exit, err error) {
		p.exit, p.exitErr = exit, err
		p.exited.Set()
	})
	p.hearing.Go(func() { io.Copy(&p.said, p.stderr) })
	go p.run()
	return nil
}

// closePipes closes this end of the pipes that were opened: a nil file may be closed.
func (p *commandProcess) closePipes() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}

// run ends the process when it is to end, and what there is here when it has ended.
func (p *commandProcess) run() {
	defer p.closed.Set()
	select {
	case <-p.exited.Done():
		p.endRead()
	case <-p.closing.Done():
		p.endRead()
		p.endProcess()
	}
	p.stderr.SetReadDeadline(time.Unix(1, 0)) // something else may hold it
	p.hearing.Wait()
	p.said.Write(left(p.stderr))
	p.silent.Set()

	p.tree.Close()
	p.closePipes()
	p.busy.Wait()
	reap := func() {
		p.cmd.Wait()
		p.processes.Close()
	}
	if p.exited.IsSet() {
		reap()
	} else {
		go reap() // should it end after all
	}
}

// endProcess ends the process: first of all its standard input.
func (p *commandProcess) endProcess() {
	p.busy.Go(func() { p.stdin.Close() })
	// A process that writes must not find that nothing reads before it sees the end of its input.
	p.busy.Go(func() { io.Copy(io.Discard, p.stdout) })
	wait := commandGrace
	if p.aborted.IsSet() {
		wait = commandAbort
	}
	select {
	case <-p.exited.Done():
		return
	case <-time.After(wait):
	}
	left := life.End(p.tree, nil, life.Step{Signal: syscall.SIGTERM, Wait: commandTerm})
	if len(left) == 0 {
		<-p.exited.Done()
	}
}

// endRead ends Reads, once they have returned what is in the pipe now.
func (p *commandProcess) endRead() {
	p.stdout.SetReadDeadline(time.Unix(1, 0)) // ends a Read that waits
	p.reading.Lock()
	defer p.reading.Unlock()
	p.rest.Write(left(p.stdout))
	p.ended.Set()
}

// Read reads what the process writes to its standard output, until its end.
func (p *commandProcess) Read(b []byte) (int, error) {
	n, err := p.readPipe(b)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		<-p.ended.Done()
		n, err = p.readPipe(b)
	}
	if n == 0 && err != nil {
		err = p.failure(err)
	}
	return n, err
}

func (p *commandProcess) readPipe(b []byte) (int, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	if p.ended.IsSet() {
		return p.rest.Read(b)
	}
	return p.stdout.Read(b)
}

// Write writes to the process's standard input.
func (p *commandProcess) Write(b []byte) (int, error) {
	n, err := p.stdin.Write(b)
	if errors.Is(err, os.ErrClosed) { // by run, since the process has ended or is to
		err = io.ErrClosedPipe
	}
	if err != nil {
		err = p.failure(err)
	}
	return n, err
}

// Close ends the process.
func (p *commandProcess) Close() error {
	p.closing.Set()
	<-p.closed.Done()
	return nil
}

// abort ends the process without waiting long for it to end by itself.
func (p *commandProcess) abort() {
	p.aborted.Set()
	p.closing.Set()
}

// failure is why nothing can be read or written any more: err, and what the process has said of it. A process that has
// closed its output is about to exit.
func (p *commandProcess) failure(err error) error {
	select {
	case <-p.silent.Done():
	case <-p.closing.Done():
	case <-time.After(commandLastWords):
	}
	how := "it runs on"
	if p.exited.IsSet() {
		switch {
		case p.exitErr != nil:
			how = p.exitErr.Error()
		case p.exit.Signal != "":
			how = p.exit.Signal
		default:
			how = fmt.Sprintf("exit code %d", p.exit.Code)
		}
	}
	if said := p.said.String(); said != "" {
		how += fmt.Sprintf(", standard error %q", said)
	}
	return fmt.Errorf("%s: %s: %w", p.cmd.Args[0], how, err)
}

// end keeps the end of what is written to it. Its methods may be called concurrently.
type end struct {
	mu   sync.Mutex
	text []byte
}

func (e *end) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, b...)
	e.text = append(e.text[:0], e.text[max(0, len(e.text)-maxStderr):]...)
	return len(b), nil
}

func (e *end) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(bytes.TrimSpace(e.text))
}
