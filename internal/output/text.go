package output

// Conversion of raw output to valid UTF-8. Each invalid byte becomes one U+FFFD, as in Go's range over a string. All
// functions are pure. In UTF-8, three bytes of context always suffice to find where a character begins.

import (
	"strings"
	"unicode/utf8"
)

// unfinished returns the length of the unfinished character at the end of s, or 0.
func unfinished(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if tail := s[len(s)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRuneInString(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// startsCharacter reports whether a character or an invalid byte begins at s[i], that is, whether s[i] is not inside a
// valid character that begins before it.
func startsCharacter(s string, i int) bool {
	for n := 1; n < utf8.UTFMax && n <= i; n++ {
		if utf8.RuneStart(s[i-n]) {
			_, size := utf8.DecodeRuneInString(s[i-n:])
			return size <= n
		}
	}
	return true
}

// validText returns s with every invalid byte replaced.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(textSize(s))
	for _, c := range s {
		b.WriteRune(c)
	}
	return b.String()
}

// textSize returns len(validText(s)).
func textSize(s string) (size int) {
	for _, c := range s {
		size += utf8.RuneLen(c)
	}
	return size
}

// lastText returns the last characters of raw as valid text of at most limit bytes, and the index where they begin.
func lastText(raw string, limit int) (text string, from int) {
	from = max(0, len(raw)-limit)
	for from < len(raw) && !startsCharacter(raw, from) {
		from++
	}
	if utf8.ValidString(raw[from:]) {
		return raw[from:], from
	}
	for size := textSize(raw[from:]); size > limit; {
		c, n := utf8.DecodeRuneInString(raw[from:])
		size -= utf8.RuneLen(c)
		from += n
	}
	return validText(raw[from:]), from
}

// firstText returns the first characters of raw as valid text of at most limit bytes, and the index where they end.
func firstText(raw string, limit int) (text string, end int) {
	for size := 0; end < len(raw); {
		c, n := utf8.DecodeRuneInString(raw[end:])
		if size += utf8.RuneLen(c); size > limit {
			break
		}
		end += n
	}
	return validText(raw[:end]), end
}
