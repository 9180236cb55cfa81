// Package frame is what a Runner and the helper at the far end say to each other: the messages, and the frames that
// carry them over a connection. It imports the standard library alone.
//
// A frame is a byte that says what it carries, the length of that as four bytes (big endian), and then a message as
// JSON (KindMessage), or output (KindOutput): the number of the process and the offset of the first byte, eight bytes
// each (big endian), and the bytes.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Version is the version of the messages. Ends of different versions do not understand each other.
const Version = 1

// What a frame carries: its first byte.
const (
	KindMessage = 'm'
	KindOutput  = 'o'
)

const (
	headerSize = 5
	outputSize = 16 // what comes before the bytes of output
)

// How many bytes a message has at the most. A request has all the arguments and variables of a command, and no system
// accepts more; a Hello has the variables of one process; an Answer after it has paths and texts.
const (
	MaxRequest = 16 << 20
	MaxHello   = 4 << 20
	MaxAnswer  = 128 << 10
)

// MaxOutput is how many bytes of output a frame has at the most.
const MaxOutput = 64 << 10

// Output is output of a process, from an offset on.
type Output struct {
	Process uint64
	Offset  int64
	Bytes   []byte // valid until the next Read
}

// Reader reads frames. It is used by one goroutine at a time.
type Reader struct {
	in     io.Reader
	most   int
	buffer []byte
}

// NewReader returns a Reader of messages of at most so many bytes. It reads in large pieces only if in does, such as a
// bufio.Reader.
func NewReader(in io.Reader, most int) *Reader { return &Reader{in: in, most: most} }

// Limit changes how many bytes a message has at the most.
func (r *Reader) Limit(most int) { r.most = most }

// Read reads the next frame: a message into message, which is a pointer, or output, which is returned. It fails with
// io.EOF at the end of the input between two frames, and with another error for a malformed or longer frame.
func (r *Reader) Read(message any) (*Output, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return nil, err
	}
	kind, size := header[0], binary.BigEndian.Uint32(header[1:])
	most := uint32(r.most)
	if kind == KindOutput {
		most = outputSize + MaxOutput
	}
	if kind != KindMessage && kind != KindOutput {
		return nil, fmt.Errorf("malformed frame: kind %#x", kind)
	}
	if size > most {
		return nil, fmt.Errorf("malformed frame: %d bytes, more than %d", size, most)
	}
	body, err := r.body(int(size))
	if err != nil {
		return nil, err
	}
	if kind == KindMessage {
		if err := json.Unmarshal(body, message); err != nil {
			return nil, fmt.Errorf("malformed message: %w", err)
		}
		return nil, nil
	}
	if size < outputSize {
		return nil, fmt.Errorf("malformed frame: %d bytes of output", size)
	}
	return &Output{
		Process: binary.BigEndian.Uint64(body), Offset: int64(binary.BigEndian.Uint64(body[8:])),
		Bytes: body[outputSize:],
	}, nil
}

// body reads the contents of a frame into a buffer, which grows to twice as much as has arrived, and not to the size
// in the header. A large buffer is not kept for the next frame.
func (r *Reader) body(size int) ([]byte, error) {
	const first, kept = 64 << 10, 1 << 20
	r.buffer = r.buffer[:0]
	if cap(r.buffer) > kept {
		r.buffer = nil
	}
	for len(r.buffer) < size {
		at := len(r.buffer)
		n := min(size-at, max(at, first))
		r.buffer = slices.Grow(r.buffer, n)[:at+n]
		if _, err := io.ReadFull(r.in, r.buffer[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("a frame is cut off: %w", err)
		}
	}
	return r.buffer, nil
}

// Writer writes frames. Its methods may be called concurrently; each waits until the other end reads.
type Writer struct {
	writing sync.Mutex // held over a write
	out     io.Writer
}

// NewWriter returns a Writer.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Message writes a Request or an Answer. It fails for one longer than the other end reads.
func (w *Writer) Message(message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if most := maxOf(message); len(body) > most {
		return fmt.Errorf("a message of %d bytes is longer than the %d that a frame carries", len(body), most)
	}
	text := make([]byte, headerSize, headerSize+len(body))
	text[0] = KindMessage
	binary.BigEndian.PutUint32(text[1:], uint32(len(body)))
	return w.write(append(text, body...))
}

// maxOf is how many bytes a message may have.
func maxOf(message any) int {
	var answer Answer
	switch m := message.(type) {
	case Answer:
		answer = m
	case *Answer:
		answer = *m
	default:
		return MaxRequest
	}
	if answer.Hello != nil {
		return MaxHello
	}
	return MaxAnswer
}

// Header is the room that a frame of output needs in front of its bytes.
const Header = headerSize + outputSize

// Output writes output of a process: buffer[Header:], of at most MaxOutput bytes. What comes before is overwritten.
func (w *Writer) Output(process uint64, offset int64, buffer []byte) error {
	buffer[0] = KindOutput
	binary.BigEndian.PutUint32(buffer[1:], uint32(len(buffer)-headerSize))
	binary.BigEndian.PutUint64(buffer[headerSize:], process)
	binary.BigEndian.PutUint64(buffer[headerSize+8:], uint64(offset))
	return w.write(buffer)
}

func (w *Writer) write(frame []byte) error {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, err := w.out.Write(frame)
	return err
}
