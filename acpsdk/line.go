package acpsdk

// The length of the SDK's lines.

import "unicode/utf8"

const (
	// maxSDKLine is the longest line that the SDK reads, newline included. After a longer one, it closes its
	// connection.
	maxSDKLine = 10 << 20
	// envelopeBytes is reserved for the rest of a response: the agent's request id and the exit status.
	envelopeBytes = 4 << 10
	// maxEscape is the length of the longest escape sequence for a byte in a JSON string.
	maxEscape = len(`\u0000`)
)

// maxEncoded returns the number of bytes in a line for an output or an error.
func (t *Terminals) maxEncoded() int { return t.options.maxLineBytes() - envelopeBytes }

// fit returns the longest end of a text, which is valid UTF-8, that takes at most limit bytes in a JSON string: whole
// characters, as encoding/json escapes them.
func fit(text string, limit int) string {
	for at := len(text); at > 0 && at*maxEscape > limit; { // otherwise the rest fits
		c, size := utf8.DecodeLastRuneInString(text[:at])
		switch c {
		case '"', '\\', '\b', '\f', '\n', '\r', '\t':
			limit -= len(`\n`)
		case '<', '>', '&', '\u2028', '\u2029':
			limit -= maxEscape
		default:
			if limit -= size; c < ' ' {
				limit -= maxEscape - size
			}
		}
		if limit < 0 {
			return text[at:]
		}
		at -= size
	}
	return text
}
