package policy

import (
	"strings"
	"unicode/utf8"
)

// pattern is a text in which "*" stands for any text, of any characters, and "?" for one character. There is no way to
// mean the two themselves.
type pattern string

// matches reports whether all of a text is what the pattern stands for.
func (p pattern) matches(text string) bool {
	// Where "*" was met last, and which part of the text it stands for then. That of an earlier one need not change.
	star, rest := -1, ""
	at := 0
	for text != "" {
		_, size := utf8.DecodeRuneInString(text)
		switch {
		case at < len(p) && p[at] == '*':
			star, rest = at, text
			at++
		case at < len(p) && p[at] == '?':
			text, at = text[size:], at+1
		case at < len(p) && p[at] == text[0]:
			text, at = text[1:], at+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(rest)
			rest = rest[size:]
			text, at = rest, star+1
		default:
			return false
		}
	}
	return strings.Trim(string(p[at:]), "*") == ""
}
