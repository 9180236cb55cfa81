package acpsdk

// Functions that fit output into a line. The SDK encodes it with encoding/json.

import "unicode/utf8"

const (
	// maxSDKLine is the longest line that the SDK reads, newline included. After a longer one, it closes its
	// connection.
	maxSDKLine = 10 << 20
	// envelopeBytes is reserved for the rest of a response: the agent's request id and the exit status.
	envelopeBytes = 4 << 10
	// maxEncodedByte is the length of \u0000.
	maxEncodedByte = 6
)

// maxEncoded returns the number of bytes in a line for an output or an error.
func (t *Terminals) maxEncoded() int { return t.options.maxLineBytes() - envelopeBytes }

// suffixThatFits returns the longest suffix of a text, in whole characters, that takes at most limit bytes between the
// quotes of a JSON string.
func suffixThatFits(text string, limit int) string {
	if len(text) <= limit/maxEncodedByte {
		return text
	}
	at := len(text)
	for at > 0 {
		c, size := rune(text[at-1]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeLastRuneInString(text[:at])
		}
		if limit -= encodedSize(c, size); limit < 0 {
			break
		}
		at -= size
	}
	return text[at:]
}

// encodedSize returns the length of a character in a JSON string. size is its length in UTF-8.
func encodedSize(c rune, size int) int {
	switch c {
	case '"', '\\', '\b', '\f', '\n', '\r', '\t':
		return 2
	case '<', '>', '&', '\u2028', '\u2029':
		return maxEncodedByte
	case utf8.RuneError:
		if size == 1 { // an invalid byte
			return maxEncodedByte
		}
	}
	if c < ' ' {
		return maxEncodedByte
	}
	return size
}
