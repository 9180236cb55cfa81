package acpterm

// ACP's framing (https://agentclientprotocol.com/protocol/v1/transports): one JSON object a line, UTF-8. It
// knows lines and nothing of terminals.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// Stream is a jsonrpc2.ObjectStream for ACP. A line that is no JSON-RPC message, such as a debugging print on an
// agent's standard output, is logged with slog and skipped; the connection goes on.
//
// ReadObject is for one goroutine; WriteObject and Close may be called concurrently with everything.
type Stream struct {
	conn   io.ReadWriteCloser
	reader *bufio.Reader

	mu sync.Mutex // held over a write, so that lines do not mix
}

var _ jsonrpc2.ObjectStream = (*Stream)(nil)

// NewStream returns a stream over a connection, such as an agent's standard input and output joined.
func NewStream(conn io.ReadWriteCloser) *Stream {
	return &Stream{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10)}
}

// ReadObject reads the next line that is a JSON-RPC message into v.
func (s *Stream) ReadObject(v any) error {
	for {
		line, err := s.reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if wrong := checkMessage(line); wrong == "" {
				return json.Unmarshal(line, v)
			} else if err == nil {
				slog.Warn("acpterm: skipped a line that is no JSON-RPC message", "reason", wrong, "bytes", len(line))
			}
		}
		if err != nil {
			return err
		}
	}
}

// checkMessage says what is wrong with a line, if it is no message that jsonrpc2 can take. It looks before
// jsonrpc2 does because that leaves half of a message behind when it fails.
func checkMessage(line []byte) (wrong string) {
	if !json.Valid(line) {
		return "not JSON"
	}
	var m struct {
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil {
		return "not an object"
	}
	isRequest, isResponse := m.Method != nil, m.Result != nil || m.Error != nil
	var err error
	switch {
	case isRequest == isResponse:
		return "neither request nor response"
	case isRequest:
		err = json.Unmarshal(line, new(jsonrpc2.Request))
	default:
		err = json.Unmarshal(line, new(jsonrpc2.Response))
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// WriteObject writes v as one line, in one Write.
func (s *Stream) WriteObject(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.conn.Write(append(line, '\n'))
	return err
}

// Close closes the connection.
func (s *Stream) Close() error { return s.conn.Close() }
