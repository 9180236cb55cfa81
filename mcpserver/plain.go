package mcpserver

// Short texts for a model, without control characters.

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func isDropped(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// shorten returns text without control characters, cut to about limit bytes. The middle is cut, and the cut is marked.
func shorten(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if isDropped(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= limit {
		return text
	}
	from, to := limit/2, len(text)-limit/2
	for !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return text[:from] + "[…]" + text[to:]
}
