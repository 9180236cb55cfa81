package remote

// The Transport that runs a command line: its process and pipes.

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

// A Command is a Transport that obtains a remote shell by running a command line, such as "ssh host", "docker exec -i
// name sh", "podman exec -i name sh", "kubectl exec -i pod -- sh" or "wsl.exe --exec sh". The command must connect its
// standard input and output directly to those of the shell, without allocating a PTY. If an error occurs, the error
// includes up to the last 4 KiB of the command's standard error.
//
// The connection ends when the command's process exits, even if other processes still have its input and output open.
// Any processes that it leaves behind, such as the one that keeps ssh's connections open, continue to run.
//
// Closing the connection closes the command's standard input and then waits up to ten seconds for the process to exit,
// or up to half a second if the helper is not running yet. If the process has not exited by then, all processes that
// remain in its tree are sent SIGTERM, followed by SIGKILL two seconds later. The process runs in its own session, so
// programs cannot prompt for passwords on the host's terminal. On Windows, the process runs in a job object, which ends
// when the host exits and is terminated instead of being sent signals.
type Command struct {
	// Args holds the command line arguments, starting with the program, which is looked up in the same way as by
	// exec.Command.
	Args []string
	// Env specifies the environment, in the form "NAME=value". If Env is nil, the command uses the environment of this
	// process, except for the variables that ssh and wsl.exe are often configured to pass to the remote side: LANG,
	// LANGUAGE, LC_*, XMODIFIERS, COLORTERM, NO_COLOR and WSLENV. Note that the user's ssh_config may still cause other
	// variables to be sent. Set Env if the command passes on its whole environment, as nsenter does: otherwise, all
	// variables of this process, including secrets, reach the commands.
	Env []string
}

const (
	maxLeft      = 1 << 20 // maximum number of bytes in a pipe
	commandGrace = 10 * time.Second
	commandAbort = 500 * time.Millisecond
	commandTerm  = 2 * time.Second

	commandLastWords = 5 * time.Second // between the end of the output and the exit
)

// Open implements Transport by starting the command.
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

// isPassedOn reports whether systems configure programs to pass a variable to the remote side: the ssh_config of Debian
// and Red Hat has SendEnv, and WSLENV names variables. On Windows, names may be in lower case.
func isPassedOn(variable string) bool {
	name, _, _ := strings.Cut(strings.ToUpper(variable), "=")
	switch name {
	case "LANG", "LANGUAGE", "XMODIFIERS", "COLORTERM", "NO_COLOR", "WSLENV":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// commandProcess is the process of a Command. Its methods are safe for concurrent use.
type commandProcess struct {
	cmd       *exec.Cmd
	processes proc.Supervisor
	tree      *proc.Tree
	stdin     *os.File
	stdout    *os.File
	stderr    *os.File

	closing latch.Latch // Close was called
	aborted latch.Latch // do not wait long for the process to end
	exited  latch.Latch // exit and exitErr are set
	ended   latch.Latch // the rest of standard output is in rest
	silent  latch.Latch // all of standard error is in said
	closed  latch.Latch // all resources are freed
	exit    proc.Exit
	exitErr error

	reading sync.Mutex     // held during each read of standard output, to keep the bytes in order
	rest    bytes.Buffer   // guarded by reading, set once ended
	said    Tail           // standard error
	hearing sync.WaitGroup // the goroutine that reads standard error
	busy    sync.WaitGroup // the other goroutines
}

// start starts the process. If it fails, it leaves nothing behind.
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
		err = open(&p.stdout, &stdout, proc.DeadlinePipe)
	}
	if err == nil {
		err = open(&p.stderr, &stderr, proc.DeadlinePipe)
	}
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
		mark := proc.Mark{Name: lookup.TerminalVariable, Value: rand.Text()} // no process has this mark
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

// closePipes closes the local ends of the open pipes. A nil file may be closed.
func (p *commandProcess) closePipes() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}

// run waits for the end of the process, or ends it when Close is called, and then frees all resources.
func (p *commandProcess) run() {
	defer p.closed.Set()
	select {
	case <-p.exited.Done():
		p.endRead()
	case <-p.closing.Done():
		p.endRead()
		p.endProcess()
	}
	p.stderr.SetReadDeadline(time.Unix(1, 0)) // another process may hold it
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
		go reap() // in case it ends after all
	}
}

// endProcess ends the process, first by closing its standard input.
func (p *commandProcess) endProcess() {
	p.busy.Go(func() { p.stdin.Close() })
	// Until the process sees the end of its input, its writes must not fail because nothing reads them.
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
	left, doubt := life.End(p.tree, nil, life.Step{Signal: syscall.SIGTERM, Wait: commandTerm})
	if len(left) == 0 && doubt == nil {
		<-p.exited.Done()
	}
}

// endRead ends all Reads after they have returned the present contents of the pipe.
func (p *commandProcess) endRead() {
	p.stdout.SetReadDeadline(time.Unix(1, 0)) // ends a waiting Read
	p.reading.Lock()
	defer p.reading.Unlock()
	p.rest.Write(left(p.stdout))
	p.ended.Set()
}

// Read reads the process's standard output until its end.
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
	if errors.Is(err, os.ErrClosed) { // run closed it, since the process has ended or is being ended
		err = io.ErrClosedPipe
	}
	if err != nil {
		err = p.failure(err)
	}
	return n, err
}

// CloseWrite closes the process's standard input.
func (p *commandProcess) CloseWrite() error { return p.stdin.Close() }

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

// failure returns the reason why nothing can be read or written any more: the process's end and standard error. After
// closing its output, a process is about to exit.
func (p *commandProcess) failure(err error) error {
	select {
	case <-p.exited.Done():
		<-p.silent.Done()
	case <-p.closing.Done():
	case <-time.After(commandLastWords):
	}
	text := p.cmd.Args[0]
	switch {
	case p.exited.IsSet() && p.exitErr != nil:
		text += " has ended: " + p.exitErr.Error()
	case p.exited.IsSet() && p.exit.Signal != "":
		text += " was ended by " + p.exit.Signal
	case p.exited.IsSet():
		text += fmt.Sprintf(" has ended with exit code %d", p.exit.Code)
	case p.closing.IsSet():
		text += " is being ended"
	case errors.Is(err, io.EOF):
		text += " has closed its output and still runs"
	default:
		text += " still runs: " + err.Error()
	}
	if said := p.said.String(); said != "" {
		text += fmt.Sprintf(", standard error %q", said)
	}
	return &ended{text, err}
}
