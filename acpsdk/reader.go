package acpsdk

// What the agent sends, before the SDK reads it. The SDK's type for a create has an int where the protocol has 64 bits
// without a sign, and a number that does not go into it fails before the client is asked.

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

// NewReader returns a reader of what the agent writes, for acp.NewClientSideConnection. In a terminal/create, an
// outputByteLimit that is too high for int becomes the highest int; a manager lowers both to
// acpterm.Options.MaxOutputByteLimit. Everything else passes as it is. Without such a reader the SDK answers such
// a create -32602.
//
// It is for one goroutine, and reads ahead of what it is asked for.
func NewReader(agentOutput io.Reader) io.Reader { return newReader(agentOutput) }

func newReader(agentOutput io.Reader) *reader {
	return &reader{from: bufio.NewReaderSize(agentOutput, 64<<10), received: func([]byte) {}}
}

type reader struct {
	from     *bufio.Reader
	received func(line []byte) // is called with each line before it is read from here

	line []byte // is used for each line anew
	rest []byte // what was read and not returned yet
	long bool   // in the middle of a line that the SDK will not read
	err  error  // what comes after rest
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

// next reads a line, or a part of one that is too long.
func (r *reader) next() {
	r.line = r.line[:0]
	for {
		piece, err := r.from.ReadSlice('\n')
		r.line = append(r.line, piece...)
		if errors.Is(err, bufio.ErrBufferFull) {
			if r.long = r.long || len(r.line) >= longestLine; r.long {
				r.rest = r.line
				return
			}
			continue
		}
		r.err = err
		if r.rest = r.line; !r.long {
			r.received(r.line)
			r.rest = lowerLimit(r.line)
		}
		r.long = false
		return
	}
}

// lowerLimit is a line in which the limit of a create goes into int.
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

// encode encodes an object whose members are encoded already.
func encode(members map[string]json.RawMessage) []byte {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // else it may grow
	encoder.Encode(members)
	return encoded.Bytes()
}
