package view

// The HTML of the pages. It contains the beginning of the streams that a page opens, so that the page shows that before
// a stream can answer.

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"time"
)

// firstWait is how long a page waits for output that is said to be there. The rest of a split character may be missing.
const firstWait = 100 * time.Millisecond

// firstEvents holds events as a stream sends them.
type firstEvents struct {
	// Table is the first event of the table.
	Table string `json:"table"`
	// Key is the terminal that a page without a fragment shows, or "". Output is the beginning of its output.
	Key    string `json:"key"`
	Output string `json:"output"`
}

// serveList serves the page with the list.
func (v *View) serveList(w http.ResponseWriter, r *http.Request) {
	rows := v.table.changes(&reader{seen: make(map[string]bool)}).rows
	first := firstEvents{Table: string(tableEvent(tableMessage{All: true, Rows: rows}))}
	if newest, ok := newestRow(rows); ok {
		first.Key = newest.Key
		first.Output = v.firstOutput(r, newest.Key)
	}
	v.servePage(w, r, "index.html", first)
}

// serveTerminal serves the page of one terminal.
func (v *View) serveTerminal(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	v.find(r) // adds it
	first := firstEvents{Output: v.firstOutput(r, key)}
	if first.Output != "" {
		first.Key = key
	}
	v.servePage(w, r, "terminal.html", first)
}

// newestRow returns the last running command, or else the last command, like newest in assets/page.js.
func newestRow(rows []row) (newest row, ok bool) {
	for i, r := range rows {
		runs, ran := r.Ended == 0, newest.Ended == 0
		if i == 0 || runs && !ran || runs == ran && r.Started >= newest.Started {
			newest = r
		}
	}
	return newest, len(rows) > 0
}

// firstOutput returns the first events of a terminal's output.
func (v *View) firstOutput(r *http.Request, key string) string {
	e, terminal := v.table.find(key)
	if e == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(r.Context(), firstWait)
	defer cancel()
	var events bytes.Buffer
	s := &stream{send: func(text []byte) error { events.Write(text); return nil }}
	o := &outputStream{stream: s, table: v.table, entry: e, number: e.fixed.Number, terminal: terminal}
	o.sendStatus()
	if terminal != nil && terminal.OutputTotal() > 0 {
		if chunk := o.from(terminal).next(ctx, terminal); chunk != nil {
			o.send(chunk)
		}
	}
	return events.String()
}

// servePage serves a page. A browser does not keep it, but keeps the files that it names.
func (v *View) servePage(w http.ResponseWriter, r *http.Request, file string, first firstEvents) {
	text, err := assets.ReadFile("assets/" + file)
	if err != nil {
		panic(err) // embedded
	}
	page := strings.NewReplacer("VERSION", v.version, "FIRST", string(encode(first))).Replace(string(text))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	sendZipped(w, r, []byte(page))
}

// sendZipped sends text, compressed if the client accepts that.
func sendZipped(w http.ResponseWriter, r *http.Request, text []byte) {
	w.Header().Set("Vary", "Accept-Encoding")
	out := &deadlined{w, http.NewResponseController(w)}
	if !accepts(r, "gzip") {
		out.Write(text)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	zipped := gzip.NewWriter(out)
	zipped.Write(text)
	zipped.Close()
}
