package agent

// Reporter: the terminals that an agent reports to its client, and the queue of messages. report.go makes the report of
// one terminal.

import (
	"context"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// A Reporter reports the terminals of a Manager to an ACP v2 client. For each terminal, it sends the command, an exact
// copy of the output, and the exit status, using session/update notifications. Like ACP v2 itself, Reporter is
// experimental: it is based on the schema in npm's @agentclientprotocol/sdk 2.4.0 and may change in any release.
//
// Commands are never delayed by a client, even if the client is not reading its input. For each terminal, there are
// never more than two pieces of output waiting to be sent (see acpterm.Terminal.Follow). Since a terminal only retains
// OutputByteLimit bytes, a slow client might miss some of the output. If this happens, the next piece replaces
// everything that the client has received so far, so the end of the output is always delivered without any gaps.
//
// A Reporter serves a single connection, which is set by calling Handler or Connect. Messages are queued until the
// Reporter is connected. If a write fails, nothing further is sent. A Reporter is safe for concurrent use by multiple
// goroutines.
type Reporter struct {
	knowsSession func(acpterm.SessionID) bool
	connect      sync.Once
	connected    chan struct{} // closed when notify is set
	notify       func(ctx context.Context, method string, params any) error
	out          outbox
	answers      chan struct{} // contains an element for each answer in out

	ctx  context.Context // ends with Close, or with the error of a write as its cause
	stop context.CancelCauseFunc

	mu       sync.Mutex
	reports  map[terminalKey]*report
	changed  chan struct{} // closed when a report progresses, or nil if no call waits
	reported sync.WaitGroup
}

// ReporterOptions specifies optional settings for a Reporter. The zero value is ready to use.
type ReporterOptions struct {
	// KnowsSession, if non-nil, reports whether the given session exists. If it returns false, terminal/cancel fails
	// with -32002. KnowsSession is called on the goroutine that called Cancel. If nil, all sessions are assumed to
	// exist.
	KnowsSession func(acpterm.SessionID) bool
}

// maxAnswers is the maximum number of answers to terminal/cancel that wait for the client to read them.
const maxAnswers = 64

// terminalKey identifies a terminal. Terminal ids are unique only within a session.
type terminalKey struct {
	session  acpterm.SessionID
	terminal acpterm.TerminalID
}

// NewReporter returns a new Reporter. If you are using jsonrpc2, pass your handler to the Reporter's Handler method. If
// you are using another library, call Connect and Cancel instead. If options is nil, the defaults are used. The caller
// should call Close when finished with the Reporter.
func NewReporter(options *ReporterOptions) *Reporter {
	r := &Reporter{
		knowsSession: func(acpterm.SessionID) bool { return true }, connected: make(chan struct{}),
		answers: make(chan struct{}, maxAnswers), reports: make(map[terminalKey]*report),
	}
	if options != nil && options.KnowsSession != nil {
		r.knowsSession = options.KnowsSession
	}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	return r
}

// Connect connects the Reporter so that it sends notifications by calling notify, which may use any JSON-RPC library.
// Calls to notify are never concurrent, but a call may block until the client has read the notification. A Reporter can
// be connected only once, either by Connect or by the first message that its Handler receives. After that, Connect has
// no effect.
func (r *Reporter) Connect(notify func(ctx context.Context, method string, params any) error) {
	r.connect.Do(func() {
		r.notify = notify
		close(r.connected)
	})
}

// connectTo connects the Reporter to a connection. The Reporter ends with the connection.
func (r *Reporter) connectTo(conn *jsonrpc2.Conn) {
	r.connect.Do(func() {
		r.notify = func(ctx context.Context, method string, params any) error {
			return conn.Notify(ctx, method, params)
		}
		close(r.connected)
		go func() {
			select {
			case <-conn.DisconnectNotify():
				r.Close()
			case <-r.ctx.Done():
			}
		}()
	})
}

// ReportOptions specifies optional settings for Report. The zero value is ready to use.
type ReportOptions struct {
	// NotCancellable prevents the client from using terminal/cancel to terminate the command.
	NotCancellable bool
}

// Report starts reporting a terminal, beginning with any output still retained at that point. It does not block, so it
// is safe to call from an event hook (see acpterm.StartEvent). Reporting continues, and the output is retained, until
// the terminal has been released and everything has been sent. If the terminal is already being reported or the
// Reporter is closed, Report has no effect. If options is nil, the defaults are used.
//
// When a client reconnects, create a new Reporter and call Report for each terminal that the client might still be
// showing.
func (r *Reporter) Report(t *acpterm.Terminal, options *ReportOptions) {
	cancellable := options == nil || !options.NotCancellable
	r.report(t, v2Voice{t, cancellable}, cancellable)
}

// report is Report with a given voice.
func (r *Reporter) report(t *acpterm.Terminal, v voice, cancellable bool) {
	key := terminalKey{t.SessionID(), t.ID()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx.Err() != nil || r.reports[key] != nil {
		return
	}
	p := &report{
		reporter: r, terminal: t, voice: v, cancellable: cancellable, restart: make(chan struct{}, 1), round: -1,
	}
	p.ctx, p.stop = context.WithCancel(r.ctx)
	r.reports[key] = p
	r.reported.Go(func() {
		p.run()
		r.mu.Lock()
		defer r.mu.Unlock()
		p.gone = true
		delete(r.reports, key)
		r.progressLocked()
	})
}

// Replay replays the terminals of a session from the beginning. It should be called when handling a session/resume
// request that contains a replayFrom, before responding to the request. Replay returns once everything that existed
// when it was called has been sent. If ctx is done before then, or if the connection fails, Replay returns an *Error.
//
// Note that released terminals are not replayed. If a terminal might have to be shown again, do not release it.
func (r *Reporter) Replay(ctx context.Context, session acpterm.SessionID) error {
	r.mu.Lock()
	var all []*report
	for key, p := range r.reports {
		if key.session == session {
			p.asked++
			select {
			case p.restart <- struct{}{}:
			default:
			}
			all = append(all, p)
		}
	}
	r.mu.Unlock()
	for _, p := range all {
		if err := r.await(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// Flush waits until the current state of the terminal has been sent. This includes all of the output so far and, if the
// command has exited, the exit status. If the terminal is not being reported, Flush returns immediately. If ctx is done
// before the state has been sent, or if the connection has failed, Flush returns an *Error.
//
// Note that, according to the schema, the end of a terminal must be sent before a state_update may stop listing the
// terminal as background work.
func (r *Reporter) Flush(ctx context.Context, t *acpterm.Terminal) error {
	return r.flush(ctx, t.SessionID(), t.ID())
}

// flush is Flush for a terminal's ids.
func (r *Reporter) flush(ctx context.Context, session acpterm.SessionID, id acpterm.TerminalID) error {
	r.mu.Lock()
	p := r.reports[terminalKey{session, id}]
	r.mu.Unlock()
	if p == nil {
		return nil
	}
	return r.await(ctx, p)
}

// await is Flush for a report.
func (r *Reporter) await(ctx context.Context, p *report) error {
	goal := p.goal()
	for {
		r.mu.Lock()
		reached := p.gone || p.reached(goal)
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if r.ctx.Err() != nil {
			return r.failed(p.terminal.ID())
		}
		if reached {
			return nil
		}
		select {
		case <-changed:
		case <-r.ctx.Done():
		case <-ctx.Done():
			k := call{method: methodUpdate, terminal: p.terminal.ID()}
			return k.cancelled(ctx)
		}
	}
}

// drop ends the report of a terminal before everything is sent.
func (r *Reporter) drop(session acpterm.SessionID, id acpterm.TerminalID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.reports[terminalKey{session, id}]; p != nil {
		p.stop()
	}
}

// progressLocked wakes the callers of await. The caller must hold r.mu.
func (r *Reporter) progressLocked() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Close stops all reports and waits for their goroutines to exit. The terminals themselves are not affected. Note that
// if the client is not reading its input, a write may remain blocked until the connection is closed; Close does not
// wait for that write to complete.
func (r *Reporter) Close() {
	r.mu.Lock()
	r.stop(jsonrpc2.ErrClosed)
	r.mu.Unlock()
	r.reported.Wait()
}

// failed returns the error of a call after the end of r.ctx.
func (r *Reporter) failed(id acpterm.TerminalID) error {
	return &Error{Method: methodUpdate, TerminalID: id, Err: context.Cause(r.ctx)}
}

// post queues a session/update. It does not block.
func (r *Reporter) post(session acpterm.SessionID, update any) *notification {
	n := &notification{
		reporter: r, params: sessionUpdate{session, update}, written: make(chan struct{}),
	}
	r.out.add(n)
	return n
}

// notification is a session/update.
type notification struct {
	reporter *Reporter
	params   sessionUpdate
	written  chan struct{} // closed after the write, or if the Reporter has ended
}

// write writes the notification, unless the Reporter has ended.
func (n *notification) write() {
	defer close(n.written)
	r := n.reporter
	select {
	case <-r.connected:
	case <-r.ctx.Done():
	}
	if r.ctx.Err() != nil {
		return
	}
	if err := r.notify(r.ctx, methodUpdate, n.params); err != nil {
		r.stop(err) // the client may have received part of it
	}
}

// await waits until the notification is written. It returns the error of the write or of ctx.
func (n *notification) await(ctx context.Context) error {
	select {
	case <-n.written:
		if n.reporter.ctx.Err() != nil {
			return n.reporter.failed("")
		}
		return nil
	case <-n.reporter.ctx.Done():
		return n.reporter.failed("")
	case <-ctx.Done():
		k := call{method: methodUpdate}
		return k.cancelled(ctx)
	}
}
