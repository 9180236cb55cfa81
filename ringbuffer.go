package acpterm

// The output of a terminal: the store that keeps it, and the ways of reading it. internal/output has the ring buffer.

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/acpterm/acpterm/internal/latch"
	"github.com/acpterm/acpterm/internal/output"
	"github.com/acpterm/acpterm/internal/proc"
)

// store keeps a terminal's output. All bytes go through a ring buffer, which Follow reads. Polls and Head show these
// bytes (byteStore), these without escape sequences (plainStore) or the text on a PTY's screen (screenStore). All
// methods but Target's may be called concurrently.
type store interface {
	output.Target
	buffer() *output.Buffer
	limits() outputLimits
	// room is the maximum number of bytes in memory. It does not change.
	room() int64
	// text returns the text of Output, and the number of bytes before it.
	text() (text string, start int64)
	// head returns at most limit bytes of the beginning, and the offset of its end.
	head(limit int64) (text string, end int64)
	// polled returns the buffer with the bytes of text, or nil if the text changes in place.
	polled() *output.Buffer
	// commandEnded is called after the last output of the command itself. It shows an unfinished character.
	commandEnded()
	// size returns the size of the PTY, or nil.
	size() *TerminalSize
	// resize changes the size of the screen, and that of the PTY by calling tell.
	resize(to TerminalSize, tell func(proc.Size) error) error
}

// byteStore shows the bytes as the command wrote them.
type byteStore struct {
	*output.Buffer
	most outputLimits
}

func newByteStore(l outputLimits) *byteStore { return &byteStore{output.New(l.kept, l.head), l} }

// newStore returns the store for a command with these options.
func newStore(l outputLimits, o *CommandOptions) store {
	switch {
	case o.PTY != nil:
		return newScreenStore(l, o.PTY.size())
	case o.PlainOutput:
		return newPlainStore(l)
	}
	return newByteStore(l)
}

func (s *byteStore) buffer() *output.Buffer                           { return s.Buffer }
func (s *byteStore) limits() outputLimits                             { return s.most }
func (s *byteStore) room() int64                                      { return s.Room() }
func (s *byteStore) text() (text string, start int64)                 { return s.Last(s.most.last) }
func (s *byteStore) head(limit int64) (text string, end int64)        { return s.Head(limit) }
func (s *byteStore) polled() *output.Buffer                           { return s.Buffer }
func (s *byteStore) commandEnded()                                    { s.CommandEnded() }
func (s *byteStore) size() *TerminalSize                              { return nil }
func (s *byteStore) resize(TerminalSize, func(proc.Size) error) error { return proc.ErrNoPTY }

const followSize = 64 << 10

// A Chunk is a part of a terminal's output, at most 64 KiB long, as returned by Terminal.Follow.
type Chunk struct {
	// Offset and End delimit the chunk within the output, in bytes of Raw. The next chunk starts at End.
	Offset, End int64
	// Text is the chunk as valid UTF-8. Characters are never split, and any invalid bytes are replaced with U+FFFD.
	Text string
	// Raw is the chunk exactly as written by the command, which may not be valid UTF-8. Note that on Windows, output in
	// the console's code page has been converted to UTF-8.
	Raw string
	// Missed is the number of bytes lost before Offset because the follower did not keep up.
	Missed int64
	// Replaced indicates that the owner of an attached terminal has replaced its output, which makes all earlier chunks
	// obsolete. When calculating offsets, each replacement counts as one byte.
	Replaced bool
}

// OutputTotal returns the offset of the end of the output. This is the number of bytes written by the command,
// including any since discarded, plus one for each time the owner of an attached terminal has replaced the output.
func (t *Terminal) OutputTotal() int64 { return t.store.buffer().Total() }

// Output returns the current output as in the response to terminal/output, with the exit status if the command has
// exited. Once the exit status is set, the output includes everything the command itself wrote. On a PTY, it is plain
// text without escape sequences: the lines that have scrolled off the screen, followed by the screen itself.
func (t *Terminal) Output() TerminalOutputResponse {
	respond := t.respond()
	text, start := t.store.text()
	response := respond(start)
	response.Output = text
	return response
}

// respond reads the exit status and the head of a response. It is called before the text is read, so that a text with
// an exit status is whole. complete returns the response for a text beginning at the offset start. All polls in this
// module use respond; acpsdk copies the response to the types of its SDK.
func (t *Terminal) respond() (complete func(start int64) TerminalOutputResponse) {
	status, head := t.ExitStatus(), t.headAsked()
	return func(start int64) TerminalOutputResponse {
		response := TerminalOutputResponse{Truncated: start > 0, ExitStatus: status}
		if head != nil {
			head.OutputStart = start
			encoded, _ := json.Marshal(head) // of a string and numbers
			response.Meta = Meta{"acpterm": encoded}
		}
		return response
	}
}

// Head returns the start of the output as valid UTF-8, without splitting characters: as many bytes as the request asked
// for in the "headBytes" of _meta.acpterm (see agent.AskForHead), up to Options.MaxOutputByteLimit. The result end is
// the offset where text ends, as in a Chunk. On a PTY, text is the start of the text returned by Output, and end is an
// offset in that text.
func (t *Terminal) Head() (text string, end int64) { return t.store.head(t.store.limits().head) }

// headAsked returns the beginning of the output, or nil if the agent has not asked for it.
func (t *Terminal) headAsked() *outputHead {
	if t.store.limits().head == 0 {
		return nil
	}
	text, end := t.Head()
	return &outputHead{Text: text, End: end}
}

// Follow returns an iterator over the output, which yields new output as it is written. The iterator starts at the
// given offset, where 0 is the beginning. It stops when the terminal is released or the last process closes the output,
// which may be long after the command has exited. If the terminal is attached, it stops once the owner has reported the
// exit and all output up to that point has been read. To stop earlier, cancel ctx or break out of the loop.
//
// A slow follower does not slow down the command. If a follower falls behind, it misses output, and the next Chunk
// reports how many bytes were missed. Note that the last Chunk may contain no text and only report missed bytes.
func (t *Terminal) Follow(ctx context.Context, offset int64) iter.Seq[Chunk] {
	return func(yield func(Chunk) bool) {
		at := max(offset, 0)
		ring := t.store.buffer()
		ends := t.owner.outputEnds(t)
		for ctx.Err() == nil {
			over := latch.IsClosed(ends) // before the read, which then has all
			e := ring.Read(at, followSize)
			if e.End > at {
				c := Chunk{Offset: e.Begin, End: e.End, Text: e.Text, Raw: e.Raw, Missed: e.Begin - max(at, e.Base)}
				c.Replaced = at < e.Base
				if !yield(c) {
					return
				}
				at = e.End
				continue
			}
			if e.Over || over {
				return
			}
			if changed := ring.Changed(e); changed != nil {
				select {
				case <-changed:
				case <-ends:
				case <-ctx.Done():
				}
			}
		}
	}
}
