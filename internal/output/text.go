package output

// Raw output as valid UTF-8. A byte that is part of no character becomes U+FFFD, one for each byte, as
// when Go ranges over a string. Everything here is a pure function of bytes; UTF-8 is such that three
// bytes of context are always enough to decide.

import (
	"strings"
	"unicode/utf8"
)

// replacementSize is how many bytes an invalid byte takes as text.
const replacementSize = len("\uFFFD")

// unfinished is how many bytes at the end of s begin a character that more bytes could finish.
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

// startsCharacter reports whether a character, or a byte that is part of none, begins at s[i]: whether
// s[i] is not inside of a valid character that began before it.
func startsCharacter(s string, i int) bool {
	for n := 1; n < utf8.UTFMax && n <= i; n++ {
		if utf8.RuneStart(s[i-n]) {
			_, size := utf8.DecodeRuneInString(s[i-n:])
			return size <= n
		}
	}
	return true
}

// validText is s with every invalid byte replaced.
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

// textSize is len(validText(s)).
func textSize(s string) int {
	size := len(s)
	for len(s) > 0 {
		c, n := utf8.DecodeRuneInString(s)
		if c == utf8.RuneError && n == 1 {
			size += replacementSize - 1
		}
		s = s[n:]
	}
	return size
}

// lastText returns the longest valid text of at most limit bytes, in whole characters, that raw ends
// with, and at which byte of raw it begins.
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
		if c == utf8.RuneError && n == 1 {
			size -= replacementSize
		} else {
			size -= n
		}
		from += n
	}
	return validText(raw[from:]), from
}

// firstText returns the longest valid text of at most limit bytes, in whole characters, that raw begins with, and how
// many bytes of raw that is.
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
