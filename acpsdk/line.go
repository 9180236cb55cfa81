package acpsdk

// The length of the SDK's lines.

const (
	// maxSDKLine is the longest line that the SDK reads, newline included. After a longer one, it closes its
	// connection.
	maxSDKLine = 10 << 20
	// envelopeBytes is reserved for the rest of a response: the agent's request id and the exit status.
	envelopeBytes = 4 << 10
)

// maxEncoded returns the number of bytes in a line for an output or an error.
func (t *Terminals) maxEncoded() int { return t.options.maxLineBytes() - envelopeBytes }
