package capture

// Conversion of output from a Windows code page to UTF-8.

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// CodePage is an encoding with characters of one or two bytes. Bytes below 0x80 are ASCII.
type CodePage struct {
	// Single has the text of each one-byte character from 0x80 on, or "" for the first byte of two.
	Single [128]string
	// Pair returns the text of a two-byte character. It is nil if the code page has only one-byte characters.
	Pair func(lead, trail byte) string
}

// Decoder is a Sink for text in UTF-8 or in a code page. It passes the text on to another Sink as UTF-8. It reads each
// line as UTF-8 up to the first invalid bytes, and the rest of the line in the code page.
//
// A Decoder withholds at most one unfinished character, until more output arrives or Flush is called. The result does
// not depend on how the input is split into pieces. Only one goroutine at a time may call the methods.
type Decoder struct {
	sink  Sink
	find  func() *CodePage
	page  *CodePage // set once found is true, or nil
	found bool
	room  []byte // result of the last Reserve
	held  []byte // an unfinished character, at most three bytes
	paged bool   // the rest of the line is in the code page
}

// NewDecoder returns a Decoder for a Sink. Commit or Flush calls find once, on the first invalid UTF-8. If find
// returns nil, all bytes are passed on unchanged.
func NewDecoder(to Sink, find func() *CodePage) *Decoder {
	return &Decoder{sink: to, find: find}
}

// Reserve returns room in the Sink.
func (d *Decoder) Reserve(n int) []byte {
	d.room = d.sink.Reserve(n)
	return d.room
}

// Commit decodes the first n bytes of the room that Reserve returned, and adds the text to the output.
func (d *Decoder) Commit(n int) {
	written := d.room[:n]
	asTheyAre := d.found && d.page == nil
	if asTheyAre || !d.paged && len(d.held) == 0 && utf8.Valid(written) {
		d.sink.Commit(n) // in place
		return
	}
	d.write(slices.Concat(d.held, written), false)
}

// Flush passes on the withheld bytes of an unfinished character.
func (d *Decoder) Flush() {
	if len(d.held) > 0 {
		d.write(d.held, true)
	}
}

// Close calls Flush and closes the Sink.
func (d *Decoder) Close() {
	d.Flush()
	d.sink.Close()
}

// write decodes written, which must not be in the Sink's room, and passes on the text.
func (d *Decoder) write(written []byte, final bool) {
	text, rest := d.decode(make([]byte, 0, len(written)), written, final)
	d.held = slices.Clone(rest)
	for len(text) > 0 {
		n := copy(d.sink.Reserve(min(len(text), maxRead)), text)
		d.sink.Commit(n)
		text = text[n:]
	}
}

// decode decodes from and appends the text to the slice to. Unless final is true, it returns an unfinished character.
func (d *Decoder) decode(to, from []byte, final bool) (text, rest []byte) {
	for len(from) > 0 {
		if d.paged {
			if to, from = d.decodeLine(to, from, final); d.paged {
				return to, from // the line has not ended
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

// decodeLine appends the text of the first line of from, without its end, and returns the remaining bytes.
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
		default: // the second byte is missing
			to = utf8.AppendRune(to, utf8.RuneError)
		}
		i++
	}
	return to, from[len(line):]
}

// validPrefix returns the length of the longest prefix of whole UTF-8 characters.
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
