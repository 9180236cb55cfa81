package acpsdk

// How much output goes into a line. It counts what encoding/json makes of a text, with which the SDK encodes.

import "unicode/utf8"

const (
	// longestLine is how long a line the SDK reads, its end included; a longer one ends its connection.
	longestLine = 10 << 20
	// frameBytes are left for what stands around an output: the request's id, which is the agent's, and the exit
	// status.
	frameBytes = 4 << 10
	// longestEscape is \u0000.
	longestEscape = 6
)

// room is how many bytes of a line there are for an output, or an error.
func (t *Terminals) room() int { return t.options.maxLineBytes() - frameBytes }

// lastThatFits is the longest end of a text, in whole characters, that takes at most room bytes between the quotes of a
// JSON string.
func lastThatFits(text string, room int) string {
	if len(text) <= room/longestEscape {
		return text
	}
	at := len(text)
	for at > 0 {
		c, size := rune(text[at-1]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeLastRuneInString(text[:at])
		}
		if room -= encodedSize(c, size); room < 0 {
			break
		}
		at -= size
	}
	return text[at:]
}

// encodedSize is how many bytes a character of this many becomes in a JSON string.
func encodedSize(c rune, size int) int {
	switch c {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return 2
	case '<', '>', '&', '\u2028', '\u2029':
		return longestEscape
	case utf8.RuneError:
		if size == 1 { // a byte that is part of no character
			return longestEscape
		}
	}
	if c < ' ' {
		return longestEscape
	}
	return size
}
