package view

// The events of streams: the table's changes, and a terminal's output from an offset. Each stream has its own
// goroutine; it never blocks a command, the table or another stream. See transport.go for how events are sent.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/acpterm/acpterm"
)

const (
	// refreshInterval is the time between updates of sizes.
	refreshInterval = 500 * time.Millisecond
	// outputInterval is the pause after a message of a running command's output. It is too short to notice.
	outputInterval = 50 * time.Millisecond
	// skipInterval is the pause after a message that skipped. No one can read output that fast.
	skipInterval = 250 * time.Millisecond
	// maxLag is how many bytes a stream may be behind before it skips ahead.
	maxLag = 1 << 20
	// maxMessage is how many bytes of output that is there already make one message, after the first. A page that is far
	// away waits for each.
	maxMessage = 256 << 10
	// liveTail is how far from the end a skip leads while the command runs. Otherwise it leads to maxLag before the
	// end.
	liveTail = 64 << 10
)

// tableMessage is the data of a "table" event.
type tableMessage struct {
	// Now is the server's time in milliseconds since 1970, like the rows' times.
	Now int64 `json:"now"`
	// All means that the rows are the whole table.
	All   bool         `json:"all,omitempty"`
	Rows  []row        `json:"rows"`
	Sizes []sizeUpdate `json:"sizes,omitempty"`
	// Gone holds the keys of removed rows.
	Gone []string `json:"gone"`
}

// serveEvents sends the whole table, and then its changes.
func (v *View) serveEvents(w http.ResponseWriter, r *http.Request) {
	s := v.openStream(w, r)
	if s == nil {
		return
	}
	defer s.close()
	ctx := s.ctx
	seen := &reader{seen: make(map[string]bool)}
	tick := time.NewTicker(refreshInterval)
	defer tick.Stop()
	for s.err == nil {
		c := v.table.changes(seen)
		switch {
		case len(c.rows)+len(c.sizes)+len(c.gone) > 0 || s.sent.IsZero():
			s.buffer.Write(tableEvent(tableMessage{All: s.sent.IsZero(), Rows: c.rows, Sizes: c.sizes, Gone: c.gone}))
			s.flush()
			s.sent = time.Now()
		default:
			s.beat()
		}
		if !pause(ctx, outputInterval) { // limits the messages if many commands start
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

// tableEvent returns an event with a message of the current time.
func tableEvent(message tableMessage) []byte {
	message.Now = time.Now().UnixMilli()
	return fmt.Appendf(nil, "event: table\ndata: %s\n\n", encode(message))
}

// pause waits. It reports false if ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
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
		panic(err) // all messages can be encoded
	}
	return data
}

// outputMessage is the data of an output event. The event's id is the row's Number and the offset of its end: "7-1024".
type outputMessage struct {
	Offset int64  `json:"offset"`
	Missed int64  `json:"missed,omitempty"`
	Text   string `json:"text"`
	// Replaced means that all earlier output is void.
	Replaced bool `json:"replaced,omitempty"`
}

// statusMessage is the data of a "status" event: the row, or only its size if nothing else changed.
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
	number, offset, err := offsetOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s := v.openStream(w, r)
	if s == nil {
		return
	}
	defer s.close()
	ctx := s.ctx
	o := &outputStream{stream: s, table: v.table, entry: e, number: e.fixed.Number, terminal: terminal, at: offset}
	if number != 0 && number != o.number { // the page has output of an earlier terminal with the same key
		o.at = 0
		o.send(&acpterm.Chunk{Replaced: true})
		o.sent = time.Time{} // as for a new page
	}
	o.run(ctx)
}

// offsetOf returns the requested offset, and the Number of its row if the request has one.
func offsetOf(r *http.Request) (number, offset int64, err error) {
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")) // a WebSocket's request has no headers
	if of, rest, found := strings.Cut(text, "-"); found && of != "" {
		if number, err = strconv.ParseInt(of, 10, 64); err != nil {
			return 0, 0, errors.New("the id must be a number and an offset")
		}
		text = rest
	}
	if text == "" {
		text = r.URL.Query().Get("offset")
	}
	if text == "" {
		return 0, 0, nil
	}
	offset, err = strconv.ParseInt(text, 10, 64)
	if err != nil || offset < 0 {
		return 0, 0, errors.New("the offset must be a number of bytes")
	}
	return number, offset, nil
}

// outputStream sends one terminal's output to one browser.
type outputStream struct {
	*stream
	table    *table
	entry    *entry // guarded by the table's mutex
	number   int64  // of the row
	terminal output // nil if the command never ran
	at       int64  // the current offset

	version   rowVersion           // of the last sent row
	size      acpterm.TerminalSize // of the PTY, when the row was sent
	changed   <-chan struct{}      // closed when the row may have changed
	delayed   bool                 // the row waits for the first output, so that a page gets both in one message
	pending   int64                // skipped bytes before at, not yet reported to the browser
	watched   <-chan struct{}      // closed when no process can listen any more; nil afterwards
	outputEnd bool                 // no more output can come
	finished  bool                 // the "end" event has been sent
	ended     bool                 // the command has ended
	catchUp   int64                // output up to this offset is sent without pauses
}

// run sends messages until the output has ended, the row is final, and no process of the tree is left.
func (o *outputStream) run(ctx context.Context) {
	t := o.terminal
	o.outputEnd = t == nil
	o.delayed = t != nil && t.OutputTotal() > o.at
	o.sendStatus()
	if t == nil {
		return
	}
	o.catchUp = t.OutputTotal()
	o.at = min(o.at, o.catchUp)
	wanted, chunks := make(chan position), make(chan *acpterm.Chunk)
	ctx, cancel := context.WithCancel(ctx)
	var fetching sync.WaitGroup
	fetching.Go(func() { fetch(ctx, t, wanted, chunks) })
	watched := make(chan struct{})
	o.watched = watched
	fetching.Go(func() {
		defer close(watched)
		if t, ok := t.(*acpterm.Terminal); ok { // not of an earlier run
			o.table.watchActivity(ctx, o.entry, t)
		}
	})
	defer fetching.Wait()
	defer cancel()
	defer close(wanted)
	tick := time.NewTicker(refreshInterval)
	defer tick.Stop()

	var pauseEnd <-chan time.Time // nil unless paused
	request := wanted             // nil while paused or while a chunk is requested
	from := o.from(t)
	for o.err == nil && !o.finished {
		select {
		case request <- from:
			request = nil
		case chunk := <-chunks:
			if chunk == nil {
				o.outputEnd = true
				o.sendStatus()
				break
			}
			o.followSize()
			skipped := o.send(chunk)
			switch {
			case o.at < o.catchUp:
				from, request = o.from(t), wanted
			case skipped:
				pauseEnd = time.After(skipInterval)
			default:
				pauseEnd = time.After(outputInterval)
			}
		case <-pauseEnd:
			pauseEnd = nil
			from, request = o.from(t), wanted
		case <-o.changed:
			o.sendStatus()
		case <-o.watched:
			o.watched = nil
			o.sendStatus()
		case <-tick.C:
			o.delayed = false
			o.sendStatus()
			if o.buffer.Len() > 0 {
				o.flush()
			}
			o.beat()
		case <-ctx.Done():
			return
		}
	}
}

// position is where a stream continues: at offset from, after output up to offset at was sent.
type position struct{ at, from int64 }

// fetch sends the next chunk of output for each wanted position, or nil when the output has ended.
func fetch(ctx context.Context, t output, wanted <-chan position, chunks chan<- *acpterm.Chunk) {
	for p := range wanted {
		select {
		case chunks <- p.next(ctx, t):
		case <-ctx.Done():
			return
		}
	}
}

// next returns the chunk at a position. The chunk is also Replaced if the skipped output was.
func (p position) next(ctx context.Context, t output) *acpterm.Chunk {
	begin := int64(-1) // of the output, if it was replaced after at
	if t.Attached() && p.at < p.from {
		if skipped := nextChunk(ctx, t, p.at); skipped != nil && skipped.Replaced {
			begin = skipped.Offset - skipped.Missed
		}
	}
	chunk := nextChunk(ctx, t, p.from)
	if chunk != nil && begin >= 0 && !chunk.Replaced {
		chunk.Replaced, chunk.Missed = true, chunk.Offset-begin
	}
	return chunk
}

// nextChunk waits for output after an offset, and returns nil when the output has ended. An agent may send more output
// of its own terminal between the command's end and the release, so nextChunk checks for it at intervals.
func nextChunk(ctx context.Context, t output, from int64) *acpterm.Chunk {
	for over := false; !over; {
		select {
		case <-t.Released():
			over = true
		default:
			over = !t.Attached()
		}
		for chunk := range t.Follow(ctx, from) {
			return &chunk
		}
		if over {
			break
		}
		select {
		case <-time.After(refreshInterval):
		case <-t.Released():
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// from returns the position to continue at. It skips ahead if this position is more than maxLag behind.
func (o *outputStream) from(t output) position {
	o.checkEnd() // before OutputTotal, so that it is the final total
	total, at := t.OutputTotal(), o.at
	if total-at <= maxLag {
		return position{at, at}
	}
	tail := int64(liveTail)
	if o.sent.IsZero() || o.ended {
		tail = maxLag
	}
	o.pending += total - tail - at
	o.at = total - tail
	return position{at, o.at}
}

// send sends a chunk, and reports whether bytes before it were skipped.
func (o *outputStream) send(chunk *acpterm.Chunk) (skipped bool) {
	message := outputMessage{
		Offset: chunk.Offset, Missed: o.pending + chunk.Missed, Text: chunk.Text, Replaced: chunk.Replaced,
	}
	if chunk.Replaced {
		message.Missed = chunk.Missed // bytes skipped before are void
	}
	o.pending = 0
	o.at = chunk.End
	o.write("id: %d-%d\ndata: %s\n\n", o.number, o.at, encode(message))
	o.delayed = false
	more := o.catchUp-o.at >= utf8.UTFMax // less may be an unfinished character
	if !more || o.sent.IsZero() || o.buffer.Len() >= maxMessage {
		o.flush()
	}
	o.sent = time.Now()
	return message.Missed > 0
}

// sendStatus sends the row if it has changed, and ends the stream after the last output, the final row and the tree.
func (o *outputStream) sendStatus() {
	row, version, settled, changed := o.table.rowOf(o.entry)
	o.changed = changed
	if version != o.version {
		message := statusMessage{Now: time.Now().UnixMilli()}
		if version.described != o.version.described {
			message.Row = &row
		} else {
			message.Size = &sizeUpdate{row.Key, row.size}
		}
		o.version = version
		o.write("event: status\ndata: %s\n\n", encode(message))
		if !o.delayed {
			o.flush()
		}
	}
	if o.outputEnd && settled && o.watched == nil {
		o.finish()
		return
	}
	o.checkEnd()
}

// followSize sends the row if the size of the PTY has changed, before the output that the command draws for it.
func (o *outputStream) followSize() {
	if !o.terminal.HasPTY() {
		return
	}
	if size := *o.terminal.Info().Size; size != o.size {
		o.size = size
		o.sendStatus()
	}
}

// checkEnd checks whether the command has ended. If so, the output up to then is sent without pauses.
func (o *outputStream) checkEnd() {
	if o.ended || o.terminal == nil {
		return
	}
	select {
	case <-o.terminal.Done():
		o.ended, o.catchUp = true, o.terminal.OutputTotal()
	default:
	}
}

// finish sends the "end" event, so that the browser does not reconnect.
func (o *outputStream) finish() {
	o.finished = true
	o.write("event: end\ndata: {}\n\n")
	o.flush()
}
