package acpsdk

// NewReader lowers output limits. outputByteLimit is an int in the SDK and an unsigned 64-bit integer in the protocol.
// If the number overflows, the SDK answers with an error.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/acpterm/acpterm"
)

// NewReader returns a reader that wraps the agent's output and can be passed to acp.NewClientSideConnection. The SDK
// would reject a terminal/create with -32602 if its outputByteLimit exceeded the maximum int, so the reader lowers any
// such limit to the maximum int. The manager later reduces the limit further, to acpterm.Options.MaxOutputByteLimit.
// All other data is passed through unchanged.
//
// The reader is buffered and is not safe for concurrent use.
func NewReader(agentOutput io.Reader) io.Reader { return newReader(agentOutput) }

func newReader(agentOutput io.Reader) *reader {
	return &reader{
		from: bufio.NewReaderSize(agentOutput, 64<<10), onLine: func([]byte) bool { return true },
	}
}

type reader struct {
	from   *bufio.Reader
	onLine func(line []byte) (forSDK bool) // called with each line; Read skips a line if it returns false

	line []byte // the current line, or a part of it
	rest []byte // the unread part of line
	long bool   // the current line is too long for the SDK
	err  error  // returned by Read after rest
}

func (r *reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.next()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next reads a line, or a part of a long one.
func (r *reader) next() {
	r.line = r.line[:0]
	for {
		piece, err := r.from.ReadSlice('\n')
		r.line = append(r.line, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			if r.long = r.long || len(r.line) >= maxSDKLine; r.long {
				r.rest = r.line
				return
			}
			continue
		}
		r.err = err
		switch {
		case r.long:
			r.rest = r.line
		case r.onLine(r.line):
			r.rest = lowerLimit(r.line)
		}
		r.long = false
		return
	}
}

// lowerLimit lowers the limit of a create to the highest int. It returns other lines unchanged.
func lowerLimit(line []byte) []byte {
	const field = "outputByteLimit"
	if !bytes.Contains(line, []byte(`"`+field+`"`)) {
		return line
	}
	var message, params map[string]json.RawMessage
	var method string
	if json.Unmarshal(line, &message) != nil || json.Unmarshal(message["method"], &method) != nil ||
		method != acpterm.MethodCreate || json.Unmarshal(message["params"], &params) != nil {
		return line
	}
	limit, err := strconv.ParseUint(string(params[field]), 10, 64)
	if err != nil || limit <= math.MaxInt {
		return line
	}
	params[field] = strconv.AppendInt(nil, math.MaxInt, 10)
	message["params"] = encode(params)
	return encode(message)
}

// encode encodes an object from its encoded members.
func encode(members map[string]json.RawMessage) []byte {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // escaping could make the line longer
	encoder.Encode(members)
	return encoded.Bytes()
}
