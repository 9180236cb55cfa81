package policy

import (
	"strings"
	"unicode/utf8"
)

// pattern is text with wildcards: "*" matches any text and "?" one character. Neither can be escaped.
type pattern string

// matches reports whether the pattern matches the whole text.
func (p pattern) matches(text string) bool {
	// The last "*", and the text after its match. Matches of earlier ones need not change.
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
