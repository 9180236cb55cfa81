package view

// The search in the output of all commands that the page lists.

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/acpterm/acpterm/display"
)

// Limits of a search.
const (
	maxSearched = 1 << 30 // bytes of output
	maxFound    = 200     // commands
	maxNeedle   = 200     // bytes of the text to find
	maxLine     = 64 << 10
	beforeMatch = 40 // bytes of the line shown before the match
	maxShown    = 200
)

// searchMessage is the response to a search.
type searchMessage struct {
	Found []found `json:"found"`
	// More means that the search has ended at a limit.
	More bool `json:"more,omitempty"`
}

// found describes the matches in the output of a command.
type found struct {
	Key string `json:"key"`
	// Line is the number of the first line with a match, counted from the beginning of the retained output, or 0 on a
	// PTY. Text is the part of the line around the match.
	Line  int    `json:"line,omitempty"`
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// serveSearch finds a text in the output of all commands, the newest first. It ignores case and escape sequences. One
// search runs at a time.
func (v *View) serveSearch(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("text")
	if strings.TrimSpace(text) == "" || len(text) > maxNeedle || strings.ContainsAny(text, "\r\n") {
		http.Error(w, "the text must be a part of a line, of at most 200 bytes", http.StatusBadRequest)
		return
	}
	ctx, cancel := v.streamContext(r)
	defer cancel()
	select {
	case v.search <- struct{}{}:
		defer func() { <-v.search }()
	case <-ctx.Done():
		return
	}
	message := searchMessage{Found: []found{}}
	left := int64(maxSearched)
	for _, s := range v.table.searched() {
		if left <= 0 || len(message.Found) == maxFound {
			message.More = true
			break
		}
		m := &matcher{needle: strings.ToLower(text)}
		left -= m.search(ctx, s.output)
		if ctx.Err() != nil {
			return
		}
		if m.found.Count > 0 {
			m.found.Key = s.key
			message.Found = append(message.Found, m.found)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	sendZipped(w, r, encode(message))
}

// searched is a command to search in.
type searched struct {
	key    string
	output output
}

// searched returns the output of all commands, the newest first.
func (t *table) searched() (all []searched) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.order) - 1; i >= 0; i-- {
		if o := t.order[i].outputOf(); o != nil {
			all = append(all, searched{t.order[i].fixed.Key, o})
		}
	}
	return all
}

// matcher finds a text in output that comes in pieces.
type matcher struct {
	needle string // in lower case
	found  found
	plain  display.ANSIStripper
	line   string // the unfinished one
	lines  int    // number of line ends so far
}

// search searches in the output so far, and returns its size.
func (m *matcher) search(ctx context.Context, o output) (size int64) {
	if o.HasPTY() {
		text := o.Output().Output
		m.add(text)
		m.end()
		m.found.Line = 0
		return int64(len(text))
	}
	for chunk := range soFar(ctx, o, 0) {
		if chunk.Replaced {
			*m = matcher{needle: m.needle}
		}
		m.add(m.plain.Strip(chunk.Text))
		size += chunk.End - chunk.Offset
	}
	m.end()
	return size
}

// add searches in the lines that the text ends.
func (m *matcher) add(text string) {
	text = m.line + text
	end := strings.LastIndexByte(text, '\n') + 1
	if end == 0 && len(text) > maxLine {
		end = len(text)
	}
	m.line = text[end:]
	m.match(text[:end])
}

func (m *matcher) end() {
	m.match(m.line)
	m.line = ""
}

// match searches in whole lines.
func (m *matcher) match(text string) {
	lower := strings.ToLower(text)
	first := strings.Index(lower, m.needle)
	if first >= 0 {
		if m.found.Count == 0 {
			before := strings.Count(lower[:first], "\n") // the lengths of characters may differ in lower case
			m.found.Line = m.lines + before + 1
			m.found.Text = around(strings.SplitN(text, "\n", before+2)[before], m.needle)
		}
		m.found.Count += strings.Count(lower[first:], m.needle)
	}
	m.lines += strings.Count(text, "\n")
}

// around returns the part of a line around a match.
func around(line, needle string) string {
	at := max(0, strings.Index(strings.ToLower(line), needle))
	begin := min(max(0, at-beforeMatch), len(line))
	for begin > 0 && begin < len(line) && !utf8.RuneStart(line[begin]) {
		begin--
	}
	shown := strings.TrimSpace(line[begin:])
	if begin > 0 {
		shown = "…" + shown
	}
	return printable(prefix(shown, maxShown), maxShown)
}
