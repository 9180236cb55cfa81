package wire

// Text as it stands between the quotes of a JSON string.

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// appendEscaped appends text, which is valid UTF-8, as it stands between the quotes of a JSON string. It escapes what
// JSON requires, and U+2028 and U+2029, which some readers take for the end of a line.
//
// Most output has few bytes to escape. So eight bytes are copied at a time, and those from the first one to escape on
// are overwritten.
func appendEscaped(to, text []byte) []byte {
	const step = 8
	for len(text) >= step {
		to = slices.Grow(to, len(text)+len(text)/8+2*step)
		n, buf := len(to), to[:cap(to)]
		for len(text) >= step && n+2*step <= len(buf) {
			eight := binary.LittleEndian.Uint64(text)
			binary.LittleEndian.PutUint64(buf[n:], eight)
			special := specialBytes(eight)
			if special == 0 {
				n, text = n+step, text[step:]
				continue
			}
			plain := bits.TrailingZeros64(special) / 8
			n, text = n+plain, text[plain:]
			if c := text[0]; c != firstOf2028 {
				binary.LittleEndian.PutUint64(buf[n:], escapes[c].bytes)
				n, text = n+escapes[c].size, text[1:]
				continue
			}
			n += len(appendLineEnd(buf[n:n], text))
			text = text[utf8.RuneLen('\u2028'):]
		}
		to = buf[:n]
	}
	for len(text) > 0 {
		switch c := text[0]; {
		case c == firstOf2028:
			to = appendLineEnd(to, text)
			text = text[utf8.RuneLen('\u2028'):]
			continue
		case c < utf8.RuneSelf && escapes[c].size > 0:
			to = binary.LittleEndian.AppendUint64(to, escapes[c].bytes)
			to = to[:len(to)-8+escapes[c].size]
		default:
			to = append(to, c)
		}
		text = text[1:]
	}
	return to
}

// firstOf2028 is the first byte of U+2028, of U+2029, and of other characters of three bytes.
const firstOf2028 = 0xE2

// appendLineEnd appends the first character of text, escaped if it is U+2028 or U+2029.
func appendLineEnd(to, text []byte) []byte {
	if text[1] == 0x80 && text[2]&^1 == 0xA8 {
		return append(to, '\\', 'u', '2', '0', '2', hex[text[2]&15])
	}
	return append(to, text[:3]...)
}

const hex = "0123456789abcdef"

// escapes are the escape sequences of ASCII characters; the size of those without one is 0.
var escapes = func() (all [utf8.RuneSelf]escape) {
	for c := range byte(' ') {
		all[c] = newEscape(fmt.Sprintf(`\u%04x`, c))
	}
	for c, sequence := range map[byte]string{
		'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
	} {
		all[c] = newEscape(sequence)
	}
	return all
}()

// escape is an escape sequence as a little-endian number, which is written in one step.
type escape struct {
	bytes uint64
	size  int
}

func newEscape(sequence string) (e escape) {
	for i := range sequence {
		e.bytes |= uint64(sequence[i]) << (8 * i)
	}
	e.size = len(sequence)
	return e
}

// specialBytes sets the high bit of the first of eight bytes that may need escaping, and no bit if none does. The bits
// of later bytes mean nothing.
func specialBytes(eight uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash, line := eight^ones*'"', eight^ones*'\\', eight^ones*firstOf2028
	return ((eight-ones*' ')&^eight | (quote-ones)&^quote | (backslash-ones)&^backslash | (line-ones)&^line) & highs
}
