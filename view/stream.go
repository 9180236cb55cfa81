package view

// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): the table's changes, and one
// terminal's output from an offset on. A stream has its own goroutine and nothing waits for that: not the command, not
// the table, not another stream.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/acpterm/acpterm"
)

const (
	// refreshInterval is how often numbers that change all the time are sent to a page.
	refreshInterval = 500 * time.Millisecond
	// outputInterval is how long a stream of output rests after a message, while the command runs: for a person it is
	// at once, and the command keeps the processors.
	outputInterval = 50 * time.Millisecond
	// skipInterval is how long it rests after one that skipped: what comes too fast to be read is only to be seen
	// moving.
	skipInterval = 250 * time.Millisecond
	// maxLag is how many bytes a stream may be behind before it skips ahead.
	maxLag = 1 << 20
	// liveTail is how far from the end it goes on then while the command runs; otherwise it is maxLag.
	liveTail = 64 << 10
	// writeTimeout is how long a browser may take nothing before its connection is given up. It can come back.
	writeTimeout = 30 * time.Second
	// quietInterval is how long nothing is sent before a comment is, so that a dead connection is seen.
	quietInterval = 15 * time.Second
)

// sse writes events to one browser.
type sse struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error // of the first write that failed
}

// openStream begins an answer of events, or refuses to.
func (v *View) openStream(w http.ResponseWriter) (s *sse, closeStream func()) {
	select {
	case v.streams <- struct{}{}:
	default:
		w.Header().Set("Retry-After", "2")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return nil, nil
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s = &sse{w: w, control: http.NewResponseController(w)}
	s.write("retry: 1000\n\n")
	s.flush()
	return s, func() { <-v.streams }
}

// write sends a text, soon.
func (s *sse) write(format string, args ...any) {
	if s.err == nil {
		s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

// flush sends what was written, now.
func (s *sse) flush() {
	if s.err == nil {
		s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
		s.err = s.control.Flush()
	}
}

// streamContext ends with the request and with the view.
func (v *View) streamContext(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(v.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// tableMessage is the data of an event "table".
type tableMessage struct {
	// Now is the time by which the rows' times are to be read, in milliseconds since 1970.
	Now int64 `json:"now"`
	// All says that what is not among the rows is not shown any more.
	All   bool                 `json:"all,omitempty"`
	Rows  []row                `json:"rows"`
	Sizes []sizeUpdate         `json:"sizes,omitempty"`
	Gone  []acpterm.TerminalID `json:"gone"`
}

// serveEvents sends the whole table, and then what changes in it.
func (v *View) serveEvents(w http.ResponseWriter, r *http.Request) {
	s, closeStream := v.openStream(w)
	if s == nil {
		return
	}
	defer closeStream()
	ctx, cancel := v.streamContext(r)
	defer cancel()
	seen := &reader{seen: make(map[acpterm.TerminalID]bool)}
	tick := time.NewTicker(refreshInterval)
	defer tick.Stop()
	var sent time.Time
	for s.err == nil {
		c := v.table.changes(seen)
		switch {
		case len(c.rows)+len(c.sizes)+len(c.gone) > 0 || sent.IsZero():
			s.write("event: table\ndata: %s\n\n", encode(tableMessage{
				Now: time.Now().UnixMilli(), All: sent.IsZero(), Rows: c.rows, Sizes: c.sizes, Gone: c.gone,
			}))
			s.flush()
			sent = time.Now()
		case time.Since(sent) > quietInterval:
			s.write(":\n\n")
			s.flush()
			sent = time.Now()
		}
		if !rest(ctx, outputInterval) { // a thousand commands a second are no thousand messages
			return
		}
		select {
		case <-c.more:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// rest waits, and reports whether ctx still holds.
func rest(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // these are made of texts and numbers
	}
	return data
}

// outputMessage is the data of an event of output. Its id is where the piece ends.
type outputMessage struct {
	Offset int64  `json:"offset"`
	Missed int64  `json:"missed,omitempty"`
	Text   string `json:"text"`
}

// statusMessage is the data of an event "status": the row, or its size if that is all that changed.
type statusMessage struct {
	Now  int64       `json:"now"`
	Row  *row        `json:"row,omitempty"`
	Size *sizeUpdate `json:"size,omitempty"`
}

// serveOutput sends a terminal's output from an offset on, and its row whenever that changes.
func (v *View) serveOutput(w http.ResponseWriter, r *http.Request) {
	e, terminal := v.find(r)
	if e == nil {
		http.NotFound(w, r)
		return
	}
	offset, err := offsetOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s, closeStream := v.openStream(w)
	if s == nil {
		return
	}
	defer closeStream()
	ctx, cancel := v.streamContext(r)
	defer cancel()
	o := &outputStream{sse: s, table: v.table, entry: e, terminal: terminal, at: offset}
	o.run(ctx)
}

// offsetOf is where a request wants to go on.
func offsetOf(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("offset")
	}
	if text == "" {
		return 0, nil
	}
	offset, err := strconv.ParseInt(text, 10, 64)
	if err != nil || offset < 0 {
		return 0, fmt.Errorf("an offset is a number of bytes")
	}
	return offset, nil
}

// outputStream is one browser's way through one terminal's output.
type outputStream struct {
	*sse
	table    *table
	entry    *entry            // of the table, whose lock guards it
	terminal *acpterm.Terminal // nil if it never ran
	at       int64             // where it is

	version  rowVersion      // of the row that was sent
	changed  <-chan struct{} // closed when there may be another
	pending  int64           // bytes before at that were skipped, and not reported to the page yet
	over     bool            // there is no more output
	finished bool            // and the browser knows that nothing comes any more
	ended    bool            // the command has; what it wrote until then is sent without rest
	catchUp  int64           // up to here, likewise
	sent     time.Time
}

// run sends until there can be no more output.
func (o *outputStream) run(ctx context.Context) {
	t := o.terminal
	o.over = t == nil
	o.sendStatus()
	if t == nil {
		return
	}
	o.catchUp = t.OutputTotal()
	o.at = min(o.at, o.catchUp)
	wanted, chunks := make(chan int64), make(chan *acpterm.Chunk)
	ctx, cancel := context.WithCancel(ctx)
	var fetching sync.WaitGroup
	fetching.Go(func() { fetch(ctx, t, wanted, chunks) })
	defer fetching.Wait()
	defer cancel()
	defer close(wanted)
	tick := time.NewTicker(refreshInterval)
	defer tick.Stop()

	var resting <-chan time.Time // while it does
	asking := wanted             // nil while it rests, or has asked
	from := o.from(t)
	for o.err == nil && !o.finished {
		select {
		case asking <- from:
			asking = nil
		case chunk := <-chunks:
			if chunk == nil {
				o.over = true
				o.sendStatus()
				break
			}
			skipped := o.send(chunk)
			switch {
			case o.at < o.catchUp:
				from, asking = o.from(t), wanted
			case skipped:
				resting = time.After(skipInterval)
			default:
				resting = time.After(outputInterval)
			}
		case <-resting:
			resting = nil
			from, asking = o.from(t), wanted
		case <-o.changed:
			o.sendStatus()
		case <-tick.C:
			o.sendStatus()
			if time.Since(o.sent) > quietInterval {
				o.write(":\n\n")
				o.flush()
				o.sent = time.Now()
			}
		case <-ctx.Done():
			return
		}
	}
}

// fetch gets the next chunk of output for each offset that is wanted; nil when there can be none.
func fetch(ctx context.Context, t *acpterm.Terminal, wanted <-chan int64, chunks chan<- *acpterm.Chunk) {
	for from := range wanted {
		var next *acpterm.Chunk
		for chunk := range t.Follow(ctx, from) {
			next = &chunk
			break
		}
		select {
		case chunks <- next:
		case <-ctx.Done():
			return
		}
	}
}

// from is where to go on: where it is, or closer to the end if that is too far away.
func (o *outputStream) from(t *acpterm.Terminal) int64 {
	o.noticeEnd() // first, so that the total is that of the end
	total := t.OutputTotal()
	if total-o.at <= maxLag {
		return o.at
	}
	tail := int64(liveTail)
	if o.sent.IsZero() || o.ended {
		tail = maxLag
	}
	o.pending += total - tail - o.at
	o.at = total - tail
	return o.at
}

// send sends a piece, and reports whether there is some missing before it.
func (o *outputStream) send(chunk *acpterm.Chunk) (skipped bool) {
	message := outputMessage{Offset: chunk.Offset, Missed: o.pending + chunk.Missed, Text: chunk.Text}
	o.pending = 0
	o.at = chunk.End
	o.write("id: %d\ndata: %s\n\n", o.at, encode(message))
	o.flush()
	o.sent = time.Now()
	return message.Missed > 0
}

// sendStatus sends the row, if it is another one. When there is no more output and nothing will change, that is the
// end.
func (o *outputStream) sendStatus() {
	row, version, settled, changed := o.table.rowOf(o.entry)
	o.changed = changed
	if version != o.version {
		message := statusMessage{Now: time.Now().UnixMilli()}
		if version.described != o.version.described {
			message.Row = &row
		} else {
			message.Size = &sizeUpdate{row.ID, row.size}
		}
		o.version = version
		o.write("event: status\ndata: %s\n\n", encode(message))
		o.flush()
	}
	if o.over && settled {
		o.finish()
		return
	}
	o.noticeEnd()
}

// noticeEnd sees whether the command has ended.
func (o *outputStream) noticeEnd() {
	if o.ended || o.terminal == nil {
		return
	}
	select {
	case <-o.terminal.Done():
		o.ended, o.catchUp = true, o.terminal.OutputTotal()
	default:
	}
}

// finish says that there is no more, and no reason to come back.
func (o *outputStream) finish() {
	o.finished = true
	o.write("event: end\ndata: {}\n\n")
	o.flush()
}
