package remote

// The Runner: the methods for a Manager, and the connection they share.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/bubblewrap"
	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/lookup"
	"github.com/acpterm/acpterm/remote/internal/frame"
)

// A Runner runs commands on the remote side of a Transport. It implements acpterm.Runner and is safe for concurrent use
// by multiple goroutines, all of which share a single connection. The first call opens the connection. If the
// connection is lost, the next call reopens it.
//
// Once the connection is lost, the state of its commands is unknown, so any attempt to wait for, kill or release them
// will fail with acpterm.ErrConnectionLost. Calls that need a connection also fail with acpterm.ErrConnectionLost if
// one cannot be established.
type Runner struct {
	options Options
	life    context.Context // ends with Close
	stop    context.CancelCauseFunc
	busy    sync.WaitGroup // goroutines of links

	mu     sync.Mutex
	closed bool
	link   *link // the newest one, or nil
}

var (
	_ acpterm.PTYRunner   = (*Runner)(nil)
	_ acpterm.StdinRunner = (*Runner)(nil)
)

// link is a connection, from before it is made until it is completely gone.
type link struct {
	made       latch.Latch // connection or err is set
	connection *connection
	err        error
	over       *latch.Latch // nothing is left of it, nor of an earlier link that it did not wait for
}

// usable reports whether calls can use the link, now or once it is made.
func (l *link) usable() bool {
	return l != nil && (!l.made.IsSet() || l.connection != nil && !l.connection.lost.IsSet())
}

// errClosed is the cause of a connection's loss by Close.
var errClosed = errors.New("the Runner was closed")

// NewRunner returns a new Runner, which connects when it is first used or when Connect is called. The caller should
// close the Runner after closing the Manager. If an option is invalid, NewRunner returns an error that names the
// option.
func NewRunner(options Options) (*Runner, error) {
	checked, err := options.check()
	if err != nil {
		return nil, err
	}
	r := &Runner{options: checked}
	r.life, r.stop = context.WithCancelCause(context.Background())
	return r, nil
}

// Connect connects the Runner to the remote side if it is not already connected. If ctx is done before the connection
// is established, Connect returns the context's cause, but the Runner continues to connect in the background.
func (r *Runner) Connect(ctx context.Context) error {
	_, err := r.connect(ctx)
	return err
}

// Close closes the connection, which terminates everything running on the remote side, and waits until all local
// resources have been released. It always returns nil. Subsequent calls to other methods will return
// acpterm.ErrClosing.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(errClosed)
	r.busy.Wait()
	return nil
}

// connect returns the connection once it is made.
func (r *Runner) connect(ctx context.Context) (*connection, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	l, err := r.newestLink()
	if err != nil {
		return nil, err
	}
	select {
	case <-l.made.Done():
		return l.connection, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// newestLink returns a usable link, and begins one if necessary.
func (r *Runner) newestLink() (*link, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, &acpterm.Error{Kind: acpterm.ErrClosing, Reason: "the Runner is closed"}
	}
	if !r.link.usable() {
		before := r.link
		l := &link{over: new(latch.Latch)}
		r.link = l
		r.busy.Go(func() { r.run(l, before) })
	}
	return r.link, nil
}

// run makes a connection once nothing is left of the previous one, and serves it until it is lost.
func (r *Runner) run(l, before *link) {
	if err := r.await(before); err != nil {
		l.err, l.over = noConnection(err), before.over
		l.made.Set()
		return
	}
	defer l.over.Set()
	var opened *stream
	var err error
	l.connection, opened, err = dial(r.life, r.options)
	if opened != nil {
		defer opened.Close() // may take time; no call waits for it
	}
	if err != nil {
		err = visibleError{err}
		l.err = noConnection(err)
		r.options.Progress(Progress{Step: StepLost, Err: err})
		l.made.Set()
		return
	}
	p := Progress{Step: StepConnected, System: l.connection.hello.System, Arch: l.connection.hello.Arch}
	r.options.Progress(p)
	l.made.Set()
	p.Err = l.connection.serve(r.life, r.options.SilenceTimeout)
	p.Step = StepLost
	r.options.Progress(p)
	l.connection.close()
}

func noConnection(err error) error {
	const reason = "the connection to the remote system failed"
	return &acpterm.Error{Kind: acpterm.ErrConnectionLost, Reason: reason, Err: err}
}

// await waits until nothing is left of a link.
func (r *Runner) await(before *link) error {
	if before == nil {
		return nil
	}
	timer := time.NewTimer(r.options.ConnectTimeout)
	defer timer.Stop()
	select {
	case <-before.over.Done():
		return nil
	case <-r.life.Done():
		<-before.over.Done() // Close also waits for it
		return errClosed
	case <-timer.C:
		return errors.New("the Transport has not closed the connection before")
	}
}

// Base returns the helper's directory and environment.
func (r *Runner) Base(ctx context.Context) (dir string, env []string, err error) {
	c, err := r.connect(ctx)
	if err != nil {
		return "", nil, err
	}
	return string(c.hello.Dir), frame.Strings(c.hello.Env), nil
}

// RealDir resolves all symbolic links in the given directory on the remote side.
func (r *Runner) RealDir(ctx context.Context, dir string) (string, error) {
	c, err := r.connect(ctx)
	if err != nil {
		return "", err
	}
	request := &frame.Request{RealDir: &frame.RealDir{Dir: frame.Bytes(dir)}}
	reply, err := c.ask(ctx, request, func(r *frame.Reply) error {
		if !absolute(c.hello.System, string(r.Dir)) {
			return fmt.Errorf("the directory %.100q, which is not absolute", r.Dir)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return string(reply.Dir), nil
}

// LookPath looks up the program of a command on the remote side.
func (r *Runner) LookPath(ctx context.Context, command acpterm.Command) (acpterm.Found, error) {
	c, err := r.connect(ctx)
	if err != nil {
		return acpterm.Found{}, err
	}
	asked := commandOf(command)
	asked.Path = nil
	reply, err := c.ask(ctx, &frame.Request{Look: &asked}, func(r *frame.Reply) error {
		switch f := r.Found; {
		case f == nil:
			return errors.New("nothing that was found")
		case !absolute(c.hello.System, string(f.Path)) || !absolute(c.hello.System, string(f.Dir)):
			return fmt.Errorf("the program %.100q in the directory %.100q, which are not both absolute", f.Path, f.Dir)
		case strings.ContainsAny(string(f.Name), "/\x00"):
			return fmt.Errorf("the program's name %.100q", f.Name)
		case len(f.Pin) > maxPin || !utf8.ValidString(f.Pin):
			return fmt.Errorf("a pin of %d bytes", len(f.Pin))
		}
		return nil
	})
	if err != nil {
		return acpterm.Found{}, forCommand(err, command)
	}
	found := reply.Found
	return acpterm.Found{
		Path: string(found.Path), Name: string(found.Name), Dir: string(found.Dir), Pin: found.Pin,
	}, nil
}

// maxPin is the maximum length of a pin in bytes.
const maxPin = 4 << 10

// Start starts the command on the remote side. If ctx is done before the command has started, Start waits for the
// remote side to confirm that all of the command's processes have exited. After ten seconds, Start abandons any
// processes still running. If the remote side has not sent this confirmation after another ten seconds, Start closes
// the connection, which terminates everything on the remote side.
func (r *Runner) Start(ctx context.Context, request acpterm.StartRequest) (acpterm.Process, error) {
	p, err := r.start(ctx, request, frame.Start{})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// StartPTY is Start for a command on a PTY.
func (r *Runner) StartPTY(
	ctx context.Context, request acpterm.StartRequest, size acpterm.TerminalSize,
) (acpterm.PTYProcess, error) {
	p, err := r.start(ctx, request, frame.Start{PTY: sizeOf(size)})
	if err != nil {
		return nil, err
	}
	return &ptyProcess{process: p, input: newInput(p)}, nil
}

// StartStdin is Start for a command whose standard input is a pipe. If the connection is lost, a Write fails with
// acpterm.ErrConnectionLost.
func (r *Runner) StartStdin(
	ctx context.Context, request acpterm.StartRequest,
) (acpterm.Process, io.WriteCloser, error) {
	p, err := r.start(ctx, request, frame.Start{Stdin: true})
	if err != nil {
		return nil, nil, err
	}
	return p, newInput(p), nil
}

// start starts a command. with has its kind of input.
func (r *Runner) start(ctx context.Context, request acpterm.StartRequest, with frame.Start) (*process, error) {
	limits, err := askedLimits(request.Limits)
	if err != nil {
		return nil, err
	}
	c, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	with.Command, with.Pin, with.Limits = commandOf(request.Command), request.Pin, limits
	with.MarkName, with.MarkValue = lookup.TerminalVariable, string(request.TerminalID)
	with.Sandbox = sandboxOf(r.options.Sandbox, request.Roots)
	p, err := c.start(ctx, request.Output, with)
	if err != nil {
		return nil, forCommand(err, request.Command)
	}
	return p, nil
}

func commandOf(c acpterm.Command) frame.Command {
	return frame.Command{
		Path: frame.Bytes(c.Path), Args: frame.Texts(c.Args), Dir: frame.Bytes(c.Dir), Env: frame.Texts(c.Env),
		Shell: frame.Bytes(c.ShellLine),
	}
}

// sandboxOf returns the sandbox of a command in a session with these roots, or nil.
func sandboxOf(o *bubblewrap.Options, roots []string) *frame.Sandbox {
	if o == nil {
		return nil
	}
	return &frame.Sandbox{
		Network: o.Network, Writable: frame.Texts(o.Writable), ReadOnly: frame.Texts(o.ReadOnly),
		Hidden: frame.Texts(o.Hidden), NoSyscallFilter: o.NoSyscallFilter, Roots: frame.Texts(roots),
	}
}

// forCommand adds the command's name to an error of the remote side, unless the error is about the directory.
func forCommand(err error, c acpterm.Command) error {
	e, ok := err.(*acpterm.Error)
	if !ok || e.Kind == acpterm.ErrConnectionLost || e.Command != "" || e.Field == "cwd" || len(c.Args) == 0 {
		return err
	}
	named := *e
	named.Command = c.Args[0]
	return &named
}

// askedLimits returns the nonzero limits.
func askedLimits(l acpterm.Limits) (asked []frame.Limit, err error) {
	seconds := l.CPUTime / time.Second
	if l.CPUTime%time.Second > 0 {
		seconds++
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"CPUTime", int64(seconds)}, {"Memory", l.Memory}, {"Processes", int64(l.Processes)},
		{"OpenFiles", int64(l.OpenFiles)}, {"FileSize", l.FileSize}, {"Nice", int64(l.Nice)},
	} {
		if limit.value < 0 {
			return nil, &acpterm.Error{
				Kind: acpterm.ErrInternal, Field: "Limits." + limit.name, Reason: "is out of range",
			}
		}
		if limit.value > 0 {
			asked = append(asked, frame.Limit{Name: limit.name, Value: uint64(limit.value)})
		}
	}
	return asked, nil
}

// enforcedLimits converts the limits that the remote side reports as enforced. They must be all the requested ones.
func enforcedLimits(asked, held []frame.Limit) (limits []acpterm.EnforcedLimit, err error) {
	missing := make(map[string]bool, len(asked))
	for _, limit := range asked {
		missing[limit.Name] = true
	}
	for _, limit := range held {
		if !missing[limit.Name] || limit.Value > math.MaxInt64 || len(limit.By) > 100 {
			return nil, fmt.Errorf("the limit %.100q of %d by %.100q, which was not asked for",
				limit.Name, limit.Value, limit.By)
		}
		delete(missing, limit.Name)
		limits = append(limits, acpterm.EnforcedLimit{
			Name: limit.Name, Value: int64(limit.Value), By: visible(limit.By), Tree: limit.Tree,
		})
	}
	for name := range missing {
		return nil, fmt.Errorf("a start without the limit %s", name)
	}
	return limits, nil
}
