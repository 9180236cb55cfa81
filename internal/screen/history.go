package screen

// The text of rows, one after the other, and its last bytes kept.

import (
	"slices"
	"unicode/utf8"

	"github.com/acpterm/acpterm/internal/output"
)

// joiner joins rows to text. Blanks and empty lines at the end are counted: whether they are part of the text depends
// on what follows.
type joiner struct {
	limit  int64 // bytes of text that are asked for at most
	length int64 // bytes so far, without what is counted

	newlines, blanks int64 // these come next, in this order, if more text does
	begun            bool  // there was a row
	wrapped          bool  // the last row went on in the next
}

// add appends the text of a row to what is there, with what was counted before it: as much of that as the limit has
// room for.
func (j *joiner) add(to []byte, l *line) []byte {
	if j.begun && !(j.wrapped && l.continued) {
		j.newlines, j.blanks = j.newlines+1, 0
	}
	j.begun, j.wrapped = true, l.wrapped
	content, written := l.extent()
	if content > 0 {
		j.length += j.newlines + j.blanks
		blanks := min(j.blanks, j.limit)
		to = appendTimes(to, '\n', min(j.newlines, j.limit-blanks))
		to = appendTimes(to, ' ', blanks)
		before := len(to)
		to = l.appendText(to, content)
		j.length += int64(len(to) - before)
		j.newlines, j.blanks = 0, 0
	}
	j.blanks += int64(written - content) // in the middle of a line that wrapped they are text
	return to
}

func appendTimes(to []byte, c byte, n int64) []byte {
	to = slices.Grow(to, int(n))
	for range n {
		to = append(to, c)
	}
	return to
}

// maxRow is how many bytes of room are kept for the text of the next row.
const maxRow = 16 << 10

// history is the text of the rows that scrolled off.
type history struct {
	joiner
	kept *output.Buffer // the last bytes
	row  []byte         // room for the text of one row
}

func newHistory(limit int64) history {
	return history{joiner: joiner{limit: limit}, kept: output.New(limit)}
}

// add appends rows.
func (h *history) add(lines []*line) {
	for _, l := range lines {
		h.row = h.joiner.add(h.row[:0], l)
		for rest := h.row; len(rest) > 0; {
			n := copy(h.kept.Reserve(min(len(rest), output.MaxReserve)), rest)
			h.kept.Commit(n)
			rest = rest[n:]
		}
		if cap(h.row) > maxRow {
			h.row = nil
		}
	}
}

// followedBy returns the text of the history and then of a screen's rows, down to the last with text or the cursor's;
// and whether something of it was dropped for the limit.
func (h *history) followedBy(lines []*line) (text string, truncated bool) {
	all := h.joiner
	var rest []byte
	for _, l := range lines {
		rest = all.add(rest, l)
	}
	if all.newlines > 0 && all.length > 0 {
		rest = append(rest, '\n')
		all.length++
	}
	if int64(len(rest)) > h.limit {
		rest = rest[int64(len(rest))-h.limit:]
		for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
			rest = rest[1:]
		}
		return string(rest), true
	}
	if h.length > 0 {
		text, _ = h.kept.Last(h.limit - int64(len(rest)))
	}
	text += string(rest)
	return text, int64(len(text)) < all.length
}
