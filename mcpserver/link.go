package mcpserver

// MCP sessions over HTTP: when they are opened, when they are idle, and what ends them. The SDK serves them.

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/acpterm/acpterm"
)

// A link is an MCP session of an entry.
type link struct {
	entry   *Entry
	session *session
	done    chan struct{} // closed when everything has been released
	opened  time.Time

	// Guarded by entry.mu.
	requests int           // open HTTP requests; a relay counts as one
	since    time.Time     // when requests became zero
	idle     *time.Timer   // runs while requests is zero
	posts    int           // open POST requests after the first one
	answered chan struct{} // not nil when the session has ended; closed when posts is zero, too
}

// run serves a session on a connection, until either ends. Then it releases the terminals.
func (k *link) run(c interface {
	mcp.Transport
	mcp.Connection
}) {
	defer k.entry.remove(k)
	defer k.session.close()
	defer context.AfterFunc(k.session.ctx, func() { c.Close() })()
	k.session.server.Run(context.Background(), c)
}

// serve serves a request with the entry's token.
func (e *Entry) serve(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	switch {
	case id == "" && r.Method == http.MethodPost:
		e.serveFirst(w, r)
	case id == "":
		e.handler.ServeHTTP(w, r) // which refuses it
	default:
		e.serveNext(w, r, id)
	}
}

// serveFirst serves a request that opens an MCP session.
func (e *Entry) serveFirst(w http.ResponseWriter, r *http.Request) {
	k, err := e.open()
	switch {
	case errors.Is(err, errRevoked):
		refuse(w, err.Error(), http.StatusUnauthorized)
		return
	case errors.Is(err, errSessions):
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	case err != nil:
		http.Error(w, "no session can be opened", http.StatusServiceUnavailable)
		return
	}
	k.session.quiet = quietWait
	defer e.settle(k)
	e.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, k.session.server)))
}

// settle is called after the first request of a session. It ends the session of the Manager and the SDK's session when
// either of them ends.
func (e *Entry) settle(k *link) {
	transport := k.transport()
	if transport == nil { // it was not initialized, or is over
		k.session.close()
		e.remove(k)
		return
	}
	stop := context.AfterFunc(k.session.ctx, func() {
		k.awaitAnswers()
		transport.Close()
	})
	go func() {
		transport.Wait()
		stop()
		k.session.close()
		e.remove(k)
	}()
	k.end()
}

// awaitAnswers waits until the responses of calls that the end of a session has cancelled are written, but not long.
// The SDK writes none while it closes a session. Clients that get none wait until they give up.
func (k *link) awaitAnswers() {
	k.entry.mu.Lock()
	answered := make(chan struct{})
	if k.answered = answered; k.posts == 0 {
		close(answered)
	}
	k.entry.mu.Unlock()
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	select {
	case <-answered:
	case <-timeout.C:
	}
}

// endPost is called after a POST request. The last one after the end of the session ends awaitAnswers.
func (k *link) endPost() {
	k.entry.mu.Lock()
	defer k.entry.mu.Unlock()
	if k.posts--; k.posts == 0 && k.answered != nil {
		close(k.answered)
	}
}

// serveNext serves a request of an MCP session.
func (e *Entry) serveNext(w http.ResponseWriter, r *http.Request, id string) {
	k := e.find(id)
	if k == nil || !k.begin(r.Method) {
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	defer k.end()
	if r.Method == http.MethodPost {
		defer k.endPost()
	}
	if r.Method == http.MethodDelete {
		// The SDK would wait for pending calls first, which may be waiting for commands.
		k.session.close()
		<-k.done // soon, because no call has anything left to wait for
		w.WriteHeader(http.StatusNoContent)
		return
	}
	e.handler.ServeHTTP(w, r)
}

// find returns the link of an MCP session ID, or nil.
func (e *Entry) find(id string) *link {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range e.links {
		if t := k.transport(); t != nil && t.ID() == id {
			return k
		}
	}
	return nil
}

// transport returns the SDK's session, or nil if it has not begun or is over.
func (k *link) transport() *mcp.ServerSession {
	for t := range k.session.server.Sessions() {
		return t
	}
	return nil
}

// begin counts a request, so that the session is not idle. It reports false if the session is ending.
func (k *link) begin(method string) bool {
	k.entry.mu.Lock()
	defer k.entry.mu.Unlock()
	if k.session.ctx.Err() != nil {
		return false
	}
	if k.idle != nil {
		k.idle.Stop()
	}
	k.requests++
	if method == http.MethodPost {
		k.posts++
	}
	return true
}

// end is called after a request, and starts the timer of idle sessions. The SDK's SessionTimeout would also end
// sessions whose client is listening for messages.
func (k *link) end() {
	k.entry.mu.Lock()
	defer k.entry.mu.Unlock()
	if k.requests--; k.requests == 0 && k.session.ctx.Err() == nil {
		k.since = time.Now()
		k.idle = time.AfterFunc(k.entry.listener.options.IdleTimeout, k.expire)
	}
}

// expire closes a session after IdleTimeout. A request may have come after the timer fired.
func (k *link) expire() {
	k.entry.mu.Lock()
	idle := k.requests == 0 && time.Since(k.since) >= k.entry.listener.options.IdleTimeout
	if idle {
		k.session.cancel() // so that begin fails
	}
	k.entry.mu.Unlock()
	if idle {
		k.session.close()
	}
}

// closeIdle closes the longest idle session, if any. Agents may exit without ending theirs.
func (e *Entry) closeIdle() {
	e.mu.Lock()
	var oldest *link
	for k := range e.links {
		if k.isIdle() && (oldest == nil || k.since.Before(oldest.since)) {
			oldest = k
		}
	}
	if oldest != nil {
		oldest.session.cancel() // so that begin fails
	}
	e.mu.Unlock()
	if oldest != nil {
		oldest.session.close()
	}
}

// isIdle reports whether a session has no open request and no running command, and is not ending. entry.mu is held.
func (k *link) isIdle() bool {
	if k.requests > 0 || k.session.ctx.Err() != nil {
		return false
	}
	return !slices.ContainsFunc(k.session.manager.SessionTerminals(k.session.id), func(t *acpterm.Terminal) bool {
		state := t.Info().State
		return state == acpterm.StateStarting || state == acpterm.StateRunning
	})
}
