// Package frame is the protocol between a Runner and the helper on the remote side: the messages, and the frames that
// carry them over a connection. It imports only the standard library.
//
// A frame starts with a byte for its kind and the length of its contents in four bytes (big endian). The contents are a
// message as JSON (KindMessage), or output (KindOutput): the number of the process and the offset of the first byte,
// eight bytes each (big endian), followed by the bytes.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Version is the version of the messages. The two sides must use the same version.
const Version = 5

// The kinds of frames: their first byte.
const (
	KindMessage = 'm'
	KindOutput  = 'o'
)

const (
	headerSize = 5
	outputSize = 16 // the header of the output
)

// The maximum length of a message in bytes. A Request contains all arguments and variables of a command, and no system
// accepts more than this. A Hello contains the variables of one process. A later Answer contains paths and texts.
const (
	MaxRequest = 16 << 20
	MaxHello   = 4 << 20
	MaxAnswer  = 128 << 10
)

// MaxOutput is the maximum number of output bytes in a frame.
const MaxOutput = 64 << 10

// Output is output of a process, starting at an offset.
type Output struct {
	Process uint64
	Offset  int64
	Bytes   []byte // valid until the next Read
}

// Reader reads frames. Only one goroutine at a time may use it.
type Reader struct {
	in     io.Reader
	most   int
	buffer []byte
}

// NewReader returns a Reader for messages of at most the given number of bytes. It reads in large pieces only if in
// does, as a bufio.Reader does.
func NewReader(in io.Reader, most int) *Reader { return &Reader{in: in, most: most} }

// Limit changes the maximum length of a message in bytes.
func (r *Reader) Limit(most int) { r.most = most }

// Read reads the next frame. It stores a message in message, which must be a pointer, and returns output. It returns
// io.EOF if the input ends between two frames, and another error if a frame is malformed or too long.
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

// body reads the contents of a frame into a buffer. The buffer grows to twice the number of bytes received, not to the
// size in the header. A large buffer is not kept for the next frame.
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

// Writer writes frames. Its methods are safe for concurrent use. Each waits until the other side reads.
type Writer struct {
	writing sync.Mutex // held during a write
	out     io.Writer
}

// NewWriter returns a Writer that writes to out.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Message writes a Request or an Answer. It fails if the message is longer than the other side accepts.
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

// maxOf returns the maximum length of a message in bytes.
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

// Header is the number of bytes that an output frame needs before the output.
const Header = headerSize + outputSize

// Output writes buffer[Header:], at most MaxOutput bytes, as output of a process. It overwrites the bytes before.
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
