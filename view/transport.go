package view

// Events reach a browser as messages of a WebSocket, or, without a WebSocket, as server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html) in the response to a request. A browser opens six
// connections to a server for all its windows; WebSockets do not count.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// writeTimeout bounds a write to a browser that does not read. The browser can reconnect.
const writeTimeout = 30 * time.Second

// stream sends events to one browser. Only one goroutine may call its methods.
type stream struct {
	ctx   context.Context // ends with the connection and with the view
	close func()
	err   error // of the first event that could not be sent

	send      func([]byte) error
	buffer    bytes.Buffer
	heartbeat time.Duration // Options.Heartbeat
	sent      time.Time     // time of the last message, or zero
}

// openStream opens a stream. If MaxStreams are open, it refuses the request and returns nil.
func (v *View) openStream(w http.ResponseWriter, r *http.Request) *stream {
	select {
	case v.streams <- struct{}{}:
	default:
		w.Header().Set("Retry-After", "2")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return nil
	}
	ctx, cancel := v.streamContext(r)
	s := &stream{ctx: ctx, heartbeat: v.options.Heartbeat}
	end := func() {}
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		end = v.overSocket(s, w, r, cancel)
	} else {
		s.overResponse(w)
	}
	s.close = func() {
		cancel()
		end()
		<-v.streams
	}
	if s.err != nil { // the request has been answered
		s.close()
		return nil
	}
	s.write("retry: 1000\nheartbeat: %d\n\n", s.heartbeat.Milliseconds()) // sent with the first event
	return s
}

// overResponse makes the response to a request the stream. It answers with an error if the response cannot be flushed.
func (s *stream) overResponse(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // or nginx would buffer events
	control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if s.err = control.Flush(); errors.Is(s.err, http.ErrNotSupported) { // then nothing is written yet
		http.Error(w, "nothing can be sent live: middleware around the view hides http.Flusher, and has no Unwrap",
			http.StatusNotImplemented)
	}
	s.send = func(text []byte) error {
		control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(text); err != nil {
			return err
		}
		return control.Flush()
	}
}

// overSocket makes the stream a WebSocket. The page answers each message after showing it, and gets no second one
// before that, because a browser would queue all that arrive. end closes the WebSocket.
func (v *View) overSocket(s *stream, w http.ResponseWriter, r *http.Request, cancel func()) (end func()) {
	if refusal := v.admitOrigin(r); refusal != "" {
		s.err = errors.New(refusal)
		http.Error(w, refusal, http.StatusForbidden)
		return func() {}
	}
	dropPageHeaders(w.Header())
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // admitOrigin has checked it, also against Options.Origins
	})
	if err != nil {
		s.err = err
		return func() {}
	}
	shown := make(chan struct{}, 1)
	shown <- struct{}{}
	go func() {
		defer cancel()
		for {
			if _, _, err := conn.Read(s.ctx); err != nil {
				return
			}
			select {
			case shown <- struct{}{}:
			default: // more answers than messages
			}
		}
	}()
	s.send = func(text []byte) error {
		ctx, cancel := context.WithTimeout(s.ctx, writeTimeout)
		defer cancel()
		select {
		case <-shown:
			return conn.Write(ctx, websocket.MessageText, text)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return func() { conn.CloseNow() }
}

// write adds an event to the buffer.
func (s *stream) write(format string, args ...any) { fmt.Fprintf(&s.buffer, format, args...) }

// flush sends the buffer.
func (s *stream) flush() {
	if s.err == nil {
		s.err = s.send(s.buffer.Bytes())
	}
	s.buffer.Reset()
}

// beat sends a comment if nothing was sent for a heartbeat.
func (s *stream) beat() {
	if time.Since(s.sent) >= s.heartbeat {
		s.write(":\n\n")
		s.flush()
		s.sent = time.Now()
	}
}

// streamContext returns a context that ends with the request and with the view. The request's own context does not end
// when a WebSocket has taken over its connection.
func (v *View) streamContext(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(v.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}
