package remote

// Making a connection: from a Transport to a helper that has said Hello.

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

// stream is what a Transport has opened.
type stream struct {
	io.ReadWriteCloser
	heard   atomic.Int64 // when something arrived last, since start
	start   time.Time
	greeted atomic.Bool // the helper runs
	closing sync.Once
}

// aborter is a stream whose end is not to wait for the far end.
type aborter interface{ abort() }

func newStream(shell io.ReadWriteCloser) *stream {
	return &stream{ReadWriteCloser: shell, start: time.Now()}
}

func (s *stream) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	if n > 0 {
		s.heard.Store(int64(time.Since(s.start)))
	}
	return n, err
}

// silence is how long nothing has arrived.
func (s *stream) silence() time.Duration { return time.Since(s.start) - time.Duration(s.heard.Load()) }

// Close closes it once, and returns when it is closed. Before the helper runs there is nothing at the far end to wait
// for.
func (s *stream) Close() error {
	s.closing.Do(func() {
		if a, ok := s.ReadWriteCloser.(aborter); ok && !s.greeted.Load() {
			a.abort()
		}
		s.ReadWriteCloser.Close()
	})
	return nil
}

// dial opens a connection and has the helper started. It fails when ctx ends, and after the options' time. What was
// opened is returned in any case, and is to be closed.
func dial(ctx context.Context, options Options) (*connection, *stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := fmt.Errorf("no connection within Options.ConnectTimeout, %v", options.ConnectTimeout)
	timer := time.AfterFunc(options.ConnectTimeout, func() { cancel(late) })
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
	stop := context.AfterFunc(ctx, func() { s.Close() })
	c, err := greet(s, options, func() { timer.Reset(options.ConnectTimeout) })
	if !stop() || err != nil {
		return nil, s, because(ctx, err)
	}
	s.greeted.Store(true)
	return c, s, nil
}

// because is an error with what ended ctx before it, if it has ended.
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

// greet has the helper started and reads its Hello. alive is called after each piece of the helper that was copied.
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
		return nil, fmt.Errorf("the helper did not start, the far end said %q", said)
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

// versionError is the error for a helper of another version.
func versionError(version int, options Options) error {
	advice := "build Options.Helpers anew from the source of this program's version"
	if options.Helpers == nil {
		advice = "install the helper of this program's version at the far end"
		if options.Path != "" {
			advice += " as " + options.Path
		}
	}
	return fmt.Errorf("the helper at the far end speaks version %d, and this program version %d: %s",
		version, frame.Version, advice)
}

// checkHello makes a Hello what a Base has to be, or fails.
func checkHello(hello *frame.Hello) error {
	hello.System, hello.Arch = visible(hello.System), visible(hello.Arch)
	if hello.System != "windows" && path.IsAbs(string(hello.Dir)) {
		hello.Dir = frame.Bytes(path.Clean(string(hello.Dir))) // $HOME is as it was set
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
		if ok && name != "" { // there may be such in any environment, and they are no variables
			names[name] = true
			env = append(env, variable)
		}
	}
	hello.Env = env
	return nil
}

// absolute reports whether a path of a system is absolute and clean.
func absolute(system, p string) bool {
	if strings.ContainsRune(p, 0) {
		return false
	}
	return system == "windows" && p != "" || path.IsAbs(p) && path.Clean(p) == p
}
