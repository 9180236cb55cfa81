package remote

// Making a connection: from a Transport to the Hello of a helper.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/acpterm/acpterm/remote/internal/frame"
)

// stream is a connection that a Transport opened.
type stream struct {
	io.ReadWriteCloser
	heard   atomic.Int64 // when data last arrived, since start
	start   time.Time
	greeted atomic.Bool  // the helper runs
	input   atomic.Int32 // inputWriting at first
	closing sync.Once
}

// These are the states of a stream's input.
const (
	inputWriting = iota // the script is being written
	inputWritten        // nothing is being written, and nothing has answered
	inputUsed           // something has answered, and may be written to
	inputEnded          // nothing has answered in time
)

// lastWords is the time that a shell has to answer after the end of its input.
const lastWords = 2 * time.Second

// ended is an error that tells the end of a stream in words, because the text of io.EOF tells a user nothing.
type ended struct {
	text string
	err  error // io.EOF, or the error of a write
}

func (e *ended) Error() string { return e.text }

func (e *ended) Unwrap() error { return e.err }

// aborter is a stream that can end without waiting long for the remote side.
type aborter interface{ abort() }

func newStream(shell io.ReadWriteCloser) *stream {
	return &stream{ReadWriteCloser: shell, start: time.Now()}
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	if n > 0 {
		s.heard.Store(int64(time.Since(s.start)))
	}
	if err == io.EOF {
		err = &ended{"the remote system has ended the connection", err}
	}
	return n, err
}

// silence returns the time since data last arrived.
func (s *stream) silence() time.Duration { return time.Since(s.start) - time.Duration(s.heard.Load()) }

// Close closes the stream. Only the first call has an effect. If the helper has not been started yet, the remote side
// gets no time to exit, because there is nothing to clean up.
func (s *stream) Close() error {
	s.closing.Do(func() {
		if a, ok := s.ReadWriteCloser.(aborter); ok && !s.greeted.Load() {
			a.abort()
		}
		s.ReadWriteCloser.Close()
	})
	return nil
}

// scriptWritten notes that the shell has the script.
func (s *stream) scriptWritten() { s.input.CompareAndSwap(inputWriting, inputWritten) }

// answered notes that something has answered the script. Unless this was too late, the input no longer ends.
func (s *stream) answered() {
	_ = s.input.CompareAndSwap(inputWriting, inputUsed) || s.input.CompareAndSwap(inputWritten, inputUsed)
}

// late reports whether nothing has answered the script in time.
func (s *stream) late() bool { return s.input.Load() == inputEnded }

// endInput ends the input of a silent shell and waits a little. A shell that reads all its input before it runs the
// first line answers now, so that the error can say so. Otherwise it returns immediately: CloseWrite could wait for a
// blocked Write, or end a helper that has just started.
func (s *stream) endInput(ctx context.Context) {
	c, ok := s.ReadWriteCloser.(interface{ CloseWrite() error })
	if !s.input.CompareAndSwap(inputWritten, inputEnded) || !ok {
		return
	}
	failed := make(chan struct{})
	go func() { // it may hang until s is closed
		if c.CloseWrite() != nil {
			close(failed)
		}
	}()
	select {
	case <-ctx.Done():
	case <-failed:
	case <-time.After(lastWords):
	}
}

// dial opens a connection and starts the helper. It fails when ctx is done, and after Options.ConnectTimeout. It
// returns an opened stream even if it fails; the caller must close it.
func dial(ctx context.Context, options Options) (*connection, *stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := fmt.Errorf("no connection within Options.ConnectTimeout, %v", options.ConnectTimeout)
	var opened atomic.Pointer[stream]
	timer := time.AfterFunc(options.ConnectTimeout, func() {
		if s := opened.Load(); s != nil {
			s.endInput(ctx)
		}
		cancel(late)
	})
	defer timer.Stop()

	options.Progress(Progress{Step: StepConnecting})
	shell, err := options.Transport.Open(ctx)
	if err != nil {
		return nil, nil, because(ctx, err)
	}
	if shell == nil {
		return nil, nil, errors.New("the Transport has opened nothing")
	}
	s := newStream(shell)
	opened.Store(s)
	stop := context.AfterFunc(ctx, func() { s.Close() })
	c, err := greet(s, options, func() { timer.Reset(options.ConnectTimeout) })
	if s.late() {
		cancel(late)
	}
	if !stop() || err != nil {
		return nil, s, because(ctx, err)
	}
	s.greeted.Store(true)
	return c, s, nil
}

// because returns err, preceded by ctx's cause if ctx is done.
func because(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return err
	case err == nil:
		return cause
	default:
		return fmt.Errorf("%w: %w", cause, err)
	}
}

// greet starts the helper and reads its Hello. alive is called after each copied piece of the helper.
func greet(s *stream, options Options, alive func()) (*connection, error) {
	in := bufio.NewReaderSize(s, frame.Header+frame.MaxOutput)
	b := bootstrap{options: options, shell: s, in: in, alive: alive}
	if err := b.run(); err != nil {
		return nil, err
	}
	if first, err := in.Peek(1); err != nil {
		return nil, fmt.Errorf("the helper did not start: %w", err)
	} else if first[0] != frame.KindMessage {
		said, _ := in.Peek(min(in.Buffered(), 1<<10))
		return nil, fmt.Errorf("the helper did not start; the remote system answered %q", said)
	}
	frames := frame.NewReader(in, frame.MaxHello)
	var answer frame.Answer
	if output, err := frames.Read(&answer); err != nil {
		return nil, fmt.Errorf("the helper's first message: %w", err)
	} else if output != nil || answer.Hello == nil {
		return nil, errors.New("the helper's first message is no hello")
	}
	hello := answer.Hello
	if hello.Version != frame.Version {
		return nil, versionError(hello.Version, options)
	}
	if err := checkHello(hello); err != nil {
		return nil, err
	}
	frames.Limit(frame.MaxAnswer)
	return newConnection(s, frames, hello), nil
}

// versionError returns the error for a helper of another version.
func versionError(version int, options Options) error {
	advice := "build Options.Helpers again from the source of this program's version"
	if options.Helpers == nil {
		advice = "install the helper of this program's version on the remote system"
		if options.Path != "" {
			advice += " as " + options.Path
		}
	}
	return fmt.Errorf("the remote helper speaks version %d, and this program version %d: %s",
		version, frame.Version, advice)
}

// checkHello cleans a Hello for use as a Base, or fails if it is invalid.
func checkHello(hello *frame.Hello) error {
	hello.System, hello.Arch = visible(hello.System), visible(hello.Arch)
	if hello.System != "windows" && path.IsAbs(string(hello.Dir)) {
		hello.Dir = frame.Bytes(path.Clean(string(hello.Dir))) // $HOME may be unclean
	}
	if !absolute(hello.System, string(hello.Dir)) {
		return fmt.Errorf("the helper's directory %.100q is not an absolute path", hello.Dir)
	}
	names := make(map[string]bool, len(hello.Env))
	var env frame.Environ
	for _, variable := range hello.Env {
		name, _, ok := strings.Cut(string(variable), "=")
		if names[name] || strings.ContainsRune(string(variable), 0) {
			return fmt.Errorf("the helper's environment has a variable that is malformed or double, %.100q", name)
		}
		if ok && name != "" { // any environment may have other entries, which are not variables
			names[name] = true
			env = append(env, variable)
		}
	}
	hello.Env = env
	return nil
}

// absolute reports whether a path on the given system is absolute and clean.
func absolute(system, p string) bool {
	if strings.ContainsRune(p, 0) {
		return false
	}
	return system == "windows" && p != "" || path.IsAbs(p) && path.Clean(p) == p
}
