package agent

// Reporter: the terminals that an agent reports to its client, and the queue of what is sent. report.go has what is
// said about one terminal.

import (
	"context"
	"sync"

	"github.com/acpterm/acpterm"
	"github.com/sourcegraph/jsonrpc2"
)

// Reporter reports terminals of a Manager to a client of ACP v2, with session/update: for each what it runs, its output
// byte for byte, and its end. It is experimental, as ACP v2 is: it follows the schema of npm's
// @agentclientprotocol/sdk 2.4.0 and may change in any release.
//
// A client that does not read delays no command, and no more than two pieces of each terminal's output (see
// acpterm.Terminal.Follow) wait for it. If it misses output, since a terminal keeps no more than its OutputByteLimit,
// the next piece replaces all that the client has, so that it has the end of the output without a gap.
//
// A Reporter serves one connection, set by Handler or Connect; until then its messages wait. After a write that failed
// it sends nothing more. All methods may be called concurrently.
type Reporter struct {
	knowsSession func(acpterm.SessionID) bool
	connect      sync.Once
	connected    chan struct{} // closed when notify is set
	notify       func(ctx context.Context, method string, params any) error
	out          outbox
	answers      chan struct{} // has an element for each answer in out

	ctx  context.Context // ends with Close, or with the error of a write as its cause
	stop context.CancelCauseFunc

	mu       sync.Mutex
	reports  map[terminalKey]*report
	changed  chan struct{} // closed when a report has progressed; nil while no call waits
	reported sync.WaitGroup
}

// ReporterOptions configure a Reporter. The zero value, and nil in its place, is good.
type ReporterOptions struct {
	// KnowsSession reports whether a session exists. A terminal/cancel in one that does not is answered with -32002. It
	// is called by the goroutine that calls Cancel. Nil: every session counts as known.
	KnowsSession func(acpterm.SessionID) bool
}

// maxAnswers is how many answers to terminal/cancel may wait for the client to read.
const maxAnswers = 64

// terminalKey is a terminal's place: its id belongs to its session.
type terminalKey struct {
	session  acpterm.SessionID
	terminal acpterm.TerminalID
}

// NewReporter returns a Reporter. Handler makes the handler for its connection; agents on other libraries than jsonrpc2
// call Connect and Cancel. Nil options are the defaults. Close ends it.
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

// Connect begins to send notifications, by a function for the connection of any JSON-RPC library. One goroutine at a
// time calls the function, which may block until the client reads. Only the first call of Connect counts, and none
// after the first message to Handler, which connects too.
func (r *Reporter) Connect(notify func(ctx context.Context, method string, params any) error) {
	r.connect.Do(func() {
		r.notify = notify
		close(r.connected)
	})
}

// connectTo connects the Reporter to a connection. The Reporter ends when the connection does.
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

// ReportOptions say how a terminal is reported. The zero value, and nil in its place, is good.
type ReportOptions struct {
	// NotCancellable says that the client may not end the command with terminal/cancel.
	NotCancellable bool
}

// Report begins to report a terminal, from the beginning of the output that is kept. It does not block, so that a hook
// for events may call it (acpterm.StartEvent). The report ends when the terminal is released and all is sent; until
// then the output is kept. For a terminal that is reported already, and after Close, Report does nothing. Nil options
// are the defaults.
//
// A client that connects again needs a new Reporter, and a Report of each terminal that it may show.
func (r *Reporter) Report(t *acpterm.Terminal, options *ReportOptions) {
	cancellable := options == nil || !options.NotCancellable
	r.report(t, v2Voice{t, cancellable}, cancellable)
}

// report is Report, with a voice.
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

// Replay sends again what a session's terminals are, those that are reported: for a session/resume with a replayFrom,
// whose handler answers when Replay has returned. It returns when all that there was at the call has been sent, or when
// ctx ends or the connection fails, with an *Error.
//
// A released terminal is not in it, so an agent keeps those that it wants to show again.
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

// Flush waits until all has been sent that there is of a terminal at the call: its output, and if it has ended, how. A
// terminal that is not reported, or not any more, has nothing to wait for. It fails with an *Error when ctx ends or the
// connection has failed.
//
// The schema wants a terminal's end to be sent before the state_update that no longer lists it as background work.
func (r *Reporter) Flush(ctx context.Context, t *acpterm.Terminal) error {
	return r.flush(ctx, t.SessionID(), t.ID())
}

// flush is Flush by a terminal's ids.
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

// drop ends the report of a terminal before all is sent.
func (r *Reporter) drop(session acpterm.SessionID, id acpterm.TerminalID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.reports[terminalKey{session, id}]; p != nil {
		p.stop()
	}
}

// progressLocked wakes those that await.
func (r *Reporter) progressLocked() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Close stops all reports; the terminals are not touched. It returns when the reports have ended, but does not wait for
// a write that the client does not read: that one ends with the connection.
func (r *Reporter) Close() {
	r.mu.Lock()
	r.stop(jsonrpc2.ErrClosed)
	r.mu.Unlock()
	r.reported.Wait()
}

// failed is the error of a call after the end of r.ctx.
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
	written  chan struct{} // closed after the write, or instead of it
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
		r.stop(err) // the client may have got a part of it
	}
}

// await returns when the notification is written, with the error of that or of ctx.
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
