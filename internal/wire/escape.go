package wire

// Escaping the text between the quotes of a JSON string.

import (
	"fmt"
	"unicode/utf8"
)

// appendEscaped appends text, which is valid UTF-8, escaped for a JSON string, without the quotes. It escapes the
// characters required by JSON, and also U+2028 and U+2029, which some readers treat as line ends.
func appendEscaped(to, text []byte) []byte {
	plain := 0 // everything before it has been appended
	for i := 0; i < len(text); i++ {
		sequence, size := "", 1
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			sequence = escapes[c]
		case c == '\xE2' && text[i+1] == '\x80' && text[i+2]&^1 == '\xA8':
			sequence, size = lineEnds[text[i+2]&1], 3
		}
		if sequence == "" {
			continue
		}
		to = append(append(to, text[plain:i]...), sequence...)
		plain = i + size
		i = plain - 1
	}
	return append(to, text[plain:]...)
}

// Fit returns the longest end of a text, which is valid UTF-8, that takes at most limit bytes in a JSON string: whole
// characters, as encoding/json escapes them.
func Fit(text string, limit int) string {
	const longest = len(`\u0000`)
	for at := len(text); at > 0 && at*longest > limit; { // otherwise the rest fits
		c, size := utf8.DecodeLastRuneInString(text[:at])
		switch {
		case c == '<', c == '>', c == '&', c == '\u2028', c == '\u2029':
			limit -= longest
		case c < utf8.RuneSelf:
			limit -= max(1, len(escapes[c]))
		default:
			limit -= size
		}
		if limit < 0 {
			return text[at:]
		}
		at -= size
	}
	return text
}

var lineEnds = [...]string{`\u2028`, `\u2029`}

// escapes holds the escape sequences of ASCII characters, or "" for those without one.
var escapes = func() (all [utf8.RuneSelf]string) {
	for c := range ' ' {
		all[c] = fmt.Sprintf(`\u%04x`, c)
	}
	for c, sequence := range map[byte]string{
		'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
	} {
		all[c] = sequence
	}
	return all
}()
