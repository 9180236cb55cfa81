package screen

// The text of the scrolled-off rows, and its first and last bytes.

import (
	"unicode/utf8"

	"github.com/acpterm/acpterm/internal/output"
)

// joiner joins rows to text. It counts blanks and empty lines at the end, which are text only if more text follows.
type joiner struct {
	room   int64 // maximum number of bytes that readers request, at both ends together
	length int64 // bytes so far, without the counted newlines and blanks

	newlines, blanks int64 // if more text follows, these precede it, in this order
	begun            bool  // a row was added
	wrapped          bool  // the last row continues in the next
}

// add appends the counted newlines and blanks, and then the text of a row. In the first cells of the row, written
// blanks are text even at the end of the row. add appends at most room newlines and room blanks, which is enough for
// both ends of the text to be right.
func (j *joiner) add(to []byte, l *line, cells int) []byte {
	if j.begun && !(j.wrapped && l.continued) {
		j.newlines, j.blanks = j.newlines+1, 0
	}
	j.begun, j.wrapped = true, l.wrapped
	content, written := l.extent()
	content = max(content, min(written, cells))
	if content > 0 {
		j.length += j.newlines + j.blanks
		for range min(j.newlines, j.room) {
			to = append(to, '\n')
		}
		for range min(j.blanks, j.room) {
			to = append(to, ' ')
		}
		before := len(to)
		to = l.appendText(to, content)
		j.length += int64(len(to) - before)
		j.newlines, j.blanks = 0, 0
	}
	j.blanks += int64(written - content) // in the middle of a wrapped line they are text
	return to
}

// maxRow is the maximum capacity, in bytes, kept for the text of the next row.
const maxRow = 16 << 10

type history struct {
	joiner
	head  int64          // maximum number of bytes that first returns
	limit int64          // maximum number of bytes that last returns
	kept  *output.Buffer // the first and last bytes
	row   []byte         // reused for the text of one row
}

func newHistory(limit, head int64) history {
	return history{joiner: joiner{room: head + limit}, head: head, limit: limit, kept: output.New(limit, head)}
}

// add appends rows.
func (h *history) add(lines []*line) {
	for _, l := range lines {
		h.row = h.joiner.add(h.row[:0], l, 0)
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

// rows are the rows of a screen, see Screen.shown.
type rows struct {
	lines   []*line
	y, left int // the cursor's row, and the number of cells left of the cursor
}

// before joins rows to the history. It returns the text that they add, and the length of the whole text.
func (h *history) before(r rows) (rest []byte, length int64) {
	all := h.joiner
	for y, l := range r.lines {
		cells := 0
		if y == r.y {
			cells = r.left
		}
		rest = all.add(rest, l, cells)
	}
	if all.newlines > 0 && all.length > 0 {
		rest = append(rest, '\n')
		all.length++
	}
	return rest, all.length
}

// last returns the end of the whole text, which is the history and a screen's rows, and the number of bytes before it.
func (h *history) last(lines rows) (text string, start int64) {
	rest, length := h.before(lines)
	if int64(len(rest)) > h.limit {
		rest = rest[int64(len(rest))-h.limit:]
		for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
			rest = rest[1:]
		}
		return string(rest), length - int64(len(rest))
	}
	if h.length > 0 {
		text, _ = h.kept.Last(h.limit - int64(len(rest)))
	}
	return text + string(rest), length - int64(len(text)+len(rest))
}

// first returns the beginning of the whole text, at most limit bytes.
func (h *history) first(lines rows, limit int64) string {
	limit = clamp(limit, 0, h.head)
	text, end := h.kept.Head(limit)
	if end < h.length {
		return text
	}
	rest, _ := h.before(lines)
	room := int(limit - end)
	if len(rest) > room {
		for room > 0 && !utf8.RuneStart(rest[room]) {
			room--
		}
		rest = rest[:room]
	}
	return text + string(rest)
}
