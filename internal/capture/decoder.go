package capture

// Output in a code page of Windows as UTF-8.

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// CodePage is an encoding in which a character has one byte or two, and bytes below 0x80 are ASCII.
type CodePage struct {
	// Single has the text of each byte from 0x80 on that is a character; empty for one that begins one of two bytes.
	Single [128]string
	// Pair returns the text of a character of two bytes. Nil if there are none.
	Pair func(lead, trail byte) string
}

// Decoder is the Sink of a pipe that gets UTF-8 or text in a code page. It passes UTF-8 on to another Sink. Each line
// is UTF-8 up to the first bytes that are not, and from there on in the code page.
//
// What is withheld, until more comes or Flush, is at most the beginning of one character. Nothing depends on how the
// bytes were cut into pieces. The methods are for one goroutine at a time.
type Decoder struct {
	sink  Sink
	find  func() *CodePage
	page  *CodePage // once found; nil if there is none
	found bool
	room  []byte // what the last Reserve returned
	held  []byte // the beginning of a character, at most three bytes
	paged bool   // the rest of the line is in the code page
}

// NewDecoder returns a Decoder for a Sink. It calls find once, by Commit or Flush, when bytes come that are not UTF-8;
// if find returns nil, all bytes stay what they are.
func NewDecoder(to Sink, find func() *CodePage) *Decoder {
	return &Decoder{sink: to, find: find}
}

// Reserve returns room of the Sink.
func (d *Decoder) Reserve(n int) []byte {
	d.room = d.sink.Reserve(n)
	return d.room
}

// Commit makes the text of n bytes of what Reserve returned part of the output.
func (d *Decoder) Commit(n int) {
	written := d.room[:n]
	asTheyAre := d.found && d.page == nil
	if asTheyAre || !d.paged && len(d.held) == 0 && utf8.Valid(written) {
		d.sink.Commit(n) // in place
		return
	}
	d.write(slices.Concat(d.held, written), false)
}

// Flush passes on the beginning of a character that is withheld.
func (d *Decoder) Flush() {
	if len(d.held) > 0 {
		d.write(d.held, true)
	}
}

// Close flushes, and closes the Sink.
func (d *Decoder) Close() {
	d.Flush()
	d.sink.Close()
}

// write passes on the text of what was written, which is not in the Sink's room.
func (d *Decoder) write(written []byte, final bool) {
	text, rest := d.decode(make([]byte, 0, len(written)), written, final)
	d.held = slices.Clone(rest)
	for len(text) > 0 {
		n := copy(d.sink.Reserve(min(len(text), maxRead)), text)
		d.sink.Commit(n)
		text = text[n:]
	}
}

// decode appends the text of bytes, and returns those at the end that begin a character which is not finished. If final
// is true there are none.
func (d *Decoder) decode(to, from []byte, final bool) (text, rest []byte) {
	for len(from) > 0 {
		if d.paged {
			if to, from = d.decodeLine(to, from, final); d.paged {
				return to, from // the line's end has not come
			}
		}
		n := validPrefix(from)
		to, from = append(to, from[:n]...), from[n:]
		if len(from) == 0 || !final && !utf8.FullRune(from) {
			break
		}
		if !d.found {
			d.page, d.found = d.find(), true
		}
		if d.page == nil {
			return append(to, from...), nil
		}
		d.paged = true
	}
	return to, from
}

// decodeLine appends the text of the line that from begins with, up to its end, and returns what follows the text.
func (d *Decoder) decodeLine(to, from []byte, final bool) (text, rest []byte) {
	end := bytes.IndexByte(from, '\n')
	line := from
	if end >= 0 {
		line = from[:end]
		d.paged = false
	}
	for i := 0; i < len(line); {
		b := line[i]
		switch {
		case b < utf8.RuneSelf:
			to = append(to, b)
		case d.page.Single[b-utf8.RuneSelf] != "":
			to = append(to, d.page.Single[b-utf8.RuneSelf]...)
		case i+1 < len(line):
			i++
			to = append(to, d.page.Pair(b, line[i])...)
		case end < 0 && !final:
			return to, line[i:]
		default: // its second byte did not come
			to = utf8.AppendRune(to, utf8.RuneError)
		}
		i++
	}
	return to, from[len(line):]
}

// validPrefix is how many bytes at the beginning are whole characters in UTF-8.
func validPrefix(b []byte) int {
	if utf8.Valid(b) {
		return len(b)
	}
	n := 0
	for n < len(b) {
		c, size := utf8.DecodeRune(b[n:])
		if c == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}
