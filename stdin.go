package acpterm

// Standard input: the pipe or the reader of StdinOptions, and Terminal.Write, which also types into a PTY.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/acpterm/acpterm/internal/proc"
)

// StdinOptions specifies what a command without a PTY reads from its standard input. The zero value is a pipe, which
// Terminal.Write writes to and Terminal.CloseStdin closes.
type StdinOptions struct {
	// Reader, if non-nil, supplies the input instead of Terminal.Write. As in os/exec, the command inherits an
	// *os.File, which must be open until Create returns, unless Options.Runner is set. All other readers are copied to
	// the pipe on a separate goroutine, until Read returns an error. After the command has exited, a copied Reader that
	// is an io.Closer is closed, which should cause a blocked Read to return, since Manager.Close waits for it.
	Reader io.Reader
}

// stdin is the standard input of a command that starts. The zero value reads end of file.
type stdin struct {
	file *os.File    // that the command inherits, or nil
	pipe *proc.Input // feeds file, or nil
	from io.Reader   // is copied to pipe, or nil
}

// open returns the standard input of one command.
func (o *StdinOptions) open() (s stdin, err error) {
	if o == nil {
		return stdin{}, nil
	}
	if file, ok := o.Reader.(*os.File); ok {
		if _, err := file.Stat(); err != nil { // it would be a closed descriptor
			refused := optionError("CommandOptions.Stdin", "its Reader is not an open file")
			refused.Err = err
			return stdin{}, refused
		}
		return stdin{file: file}, nil
	}
	s.from = o.Reader
	if s.file, s.pipe, err = proc.InputPipe(); err != nil {
		return stdin{}, &Error{Kind: ErrInternal, Reason: "the standard input cannot be opened", Err: err}
	}
	return s, nil
}

// begin is called after the start. It returns the pipe for Terminal.Write, or nil.
func (s stdin) begin(t *Terminal, tree *proc.Tree) io.WriteCloser {
	if s.pipe == nil {
		return nil
	}
	s.file.Close() // the command has it
	return t.feed(s.pipe, s.from, tree.OnExit)
}

// feed copies from a reader, if not nil, to the pipe of a command, and closes the pipe at the exit. It returns the pipe
// for Terminal.Write, or nil.
func (t *Terminal) feed(pipe io.WriteCloser, from io.Reader, onExit func(func(proc.Exit, error))) io.WriteCloser {
	onExit(func(proc.Exit, error) {
		callHook("Runner's Close of the input", func() { pipe.Close() })
		if closer, ok := from.(io.Closer); ok {
			t.busy.Go(func() { callHook("Stdin's Close", func() { closer.Close() }) })
		}
	})
	if from == nil {
		return pipe
	}
	t.busy.Go(func() {
		callHook("Stdin's Read", func() { io.Copy(pipe, from) })
		callHook("Runner's Close of the input", func() { pipe.Close() })
	})
	return nil
}

// cancel is called instead of begin if the start has failed.
func (s stdin) cancel() {
	if s.pipe != nil {
		s.file.Close()
		s.pipe.Close()
	}
}

// errNoStdin is the error of a write to a command that reads end of file.
var errNoStdin = fmt.Errorf("nothing can be written to the command's standard input: %w", errors.ErrUnsupported)

type noInput struct{}

func (noInput) Write([]byte) (int, error) { return 0, errNoStdin }

// pipe returns the pipe that Write writes to, or nil. The command has started.
func (t *Terminal) pipe() io.WriteCloser {
	switch b := t.behind().(type) {
	case localBackend:
		return b.stdin
	case *runnerBackend:
		return b.stdin
	}
	return nil
}

func (t *Terminal) input() io.Writer {
	if pipe := t.pipe(); pipe != nil {
		return pipe
	} else if t.HasPTY() {
		return t.pty()
	}
	return noInput{}
}

// Write sends keyboard input to a command running on a PTY, or writes to the pipe of CommandOptions.Stdin. On a PTY,
// the input may contain control characters as well as text, such as "\x03" for an interrupt and "\x04" for end of
// file, and the escape sequences of keys. Write is not available to agents. Each call is reported as an InputEvent,
// which does not contain the input. Concurrent calls are serialized.
//
// If the system's buffer is full, Write blocks until there is room or the command exits. Any error is an *Error of kind
// ErrInternal. It wraps errors.ErrUnsupported if the terminal has neither a PTY nor such a pipe, os.ErrClosed if the
// command has exited or has closed the pipe, or CloseStdin was called, and a system error otherwise.
func (t *Terminal) Write(p []byte) (n int, err error) {
	<-t.started.Done()
	panicked := callHook("Runner's Write", func() { n, err = t.input().Write(p) })
	err = cmp.Or(panicked, err)
	if n > 0 {
		t.events.emit(&InputEvent{Subject: t.subject(), Time: time.Now(), Bytes: n})
	}
	if err != nil {
		err = &Error{Op: "write", Kind: ErrInternal, SessionID: t.SessionID(), TerminalID: t.id, Err: err}
	}
	return n, err
}

// CloseStdin closes the pipe that Write writes to. The command then reads end of file after the rest of the input. A
// blocked Write returns. It is not an error to call CloseStdin more than once, or after the command has exited. If the
// terminal does not have such a pipe, for example because it has a PTY, CloseStdin returns an *Error of kind
// ErrInternal that wraps errors.ErrUnsupported.
func (t *Terminal) CloseStdin() error {
	<-t.started.Done()
	err := errNoStdin
	if pipe := t.pipe(); pipe != nil {
		panicked := callHook("Runner's Close of the input", func() { err = pipe.Close() })
		err = cmp.Or(panicked, err)
	}
	if err == nil || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return &Error{Op: "close stdin", Kind: ErrInternal, SessionID: t.SessionID(), TerminalID: t.id, Err: err}
}
