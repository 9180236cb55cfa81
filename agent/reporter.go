package agent

// Reporter: the terminals that an agent reports to its client, and the queue of messages. report.go makes the report of
// one terminal.

import (
	"context"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// A Reporter reports a Manager's terminals to an ACP v2 client. It sends each terminal's command, its output byte for
// byte, and its exit status in session/update notifications. Like ACP v2, it is experimental: it follows the schema of
// npm's @agentclientprotocol/sdk 2.4.0 and may change in any release.
//
// Commands are never delayed by a client that does not read. At most two pieces of a terminal's output are waiting to
// be sent at any time (see acpterm.Terminal.Follow). Because a terminal keeps only OutputByteLimit bytes, a slow client
// may miss output. The next piece then replaces everything the client has, so that the end of the output always arrives
// without a gap.
//
// A Reporter serves a single connection, set with Handler or Connect. Messages are queued until it is connected. Once a
// write has failed, nothing more is sent. It is safe for concurrent use by multiple goroutines.
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
	// with -32002. It is called on the goroutine that called Cancel. If nil, all sessions are assumed to exist.
	KnowsSession func(acpterm.SessionID) bool
}

// maxAnswers is the maximum number of answers to terminal/cancel that wait for the client to read them.
const maxAnswers = 64

// terminalKey identifies a terminal. Terminal ids are unique only within a session.
type terminalKey struct {
	session  acpterm.SessionID
	terminal acpterm.TerminalID
}

// NewReporter returns a new Reporter. When using jsonrpc2, pass your handler to its Handler method. With other
// libraries, call Connect and Cancel instead. If options is nil, the defaults are used. The caller should call Close
// when finished.
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

// Connect makes the Reporter send notifications by calling notify, which may use any JSON-RPC library. notify is never
// called concurrently, and may block until the client reads. A Reporter is connected only once, either by Connect or by
// the first message its Handler receives. Subsequent calls are no-ops.
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
	// NotCancellable prevents the client from terminating the command with terminal/cancel.
	NotCancellable bool
}

// Report starts reporting a terminal, beginning with the output kept so far. It does not block, so it can be called
// from an event hook (see acpterm.StartEvent). Reporting stops once the terminal has been released and everything has
// been sent. The output is kept until then. Report has no effect if the terminal is already being reported or the
// Reporter is closed. If options is nil, the defaults are used.
//
// When a client reconnects, create a new Reporter and call Report for each terminal the client may still show.
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

// Replay reports a session's terminals again from the beginning. Call it when handling a session/resume with a
// replayFrom, before responding to the request. Replay returns once everything that existed at the time of the call has
// been sent. If ctx is done first or the connection fails, it returns an *Error.
//
// Released terminals are not replayed, so do not release a terminal that may have to be shown again.
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

// Flush waits until the terminal's current state has been sent: its output so far and, if the command has exited, its
// exit status. It returns immediately if the terminal is not being reported, and returns an *Error if ctx is done first
// or the connection has failed.
//
// The schema requires a terminal's end to be sent before a state_update no longer lists it as background work.
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

// Close stops all reports and waits for their goroutines to exit. It does not affect the terminals. If the client does
// not read, a write may still be blocked until the connection is closed, and Close does not wait for it.
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
