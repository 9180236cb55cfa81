package wire

// Parsing a line into a message, and encoding a result or an error as a line. Lines are checked completely, because
// jsonrpc2 ends the connection at a line it cannot decode.

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"
)

// MethodCancelRequest is the method of the notification that cancels a request.
const MethodCancelRequest = "$/cancel_request"

// Fault describes the problem with a line, such as "is not JSON", and the code for the answer
// (https://www.jsonrpc.org/specification#error_object).
type Fault struct {
	Reason string
	Code   int64 // 0 for responses, which are not answered: two peers could otherwise answer each other forever
}

var (
	faultTooLong       = &Fault{"is longer than the limit", jsonrpc2.CodeInvalidRequest}
	faultNotJSON       = &Fault{"is not JSON", jsonrpc2.CodeParseError}
	faultBatch         = &Fault{"is an array; batches are not supported", jsonrpc2.CodeInvalidRequest}
	faultNotObject     = &Fault{"is JSON and no object", jsonrpc2.CodeInvalidRequest}
	faultNoMessage     = &Fault{"is neither request nor response", jsonrpc2.CodeInvalidRequest}
	faultBoth          = &Fault{"is request and response at once", jsonrpc2.CodeInvalidRequest}
	faultMember        = &Fault{"has a member twice, or spelt in another case", jsonrpc2.CodeInvalidRequest}
	faultMethod        = &Fault{"has a method that is no string", jsonrpc2.CodeInvalidRequest}
	faultID            = &Fault{"has an id that is neither string nor number", jsonrpc2.CodeInvalidRequest}
	faultLongID        = &Fault{"has an id of more than 1024 bytes", jsonrpc2.CodeInvalidRequest}
	faultResponse      = &Fault{"is a response that cannot be read", 0}
	faultStrayResponse = &Fault{"is a response to no request", 0}
)

// AppendResult appends the line that answers a request. The id is the request's, unchanged, and the result is JSON.
func AppendResult(to, id, result []byte) []byte {
	to = append(appendResponse(to, id), `"result":`...)
	return append(append(to, result...), "}\n"...)
}

// AppendError appends the line that answers a request with an error. The id is unchanged; an empty one becomes null.
func AppendError(to, id []byte, e *jsonrpc2.Error) []byte {
	encoded, err := json.Marshal(e)
	if err != nil { // the data of an error made by the host might not be JSON
		encoded, _ = json.Marshal(&jsonrpc2.Error{Code: e.Code, Message: e.Message})
	}
	to = append(appendResponse(to, id), `"error":`...)
	return append(append(to, encoded...), "}\n"...)
}

// appendResponse appends the beginning of a response, up to its result or error.
func appendResponse(to, id []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	return append(append(append(to, `{"jsonrpc":"2.0","id":`...), id...), ',')
}

// Message is a message that jsonrpc2 decodes without an error.
type Message struct {
	Line   []byte // with an id that jsonrpc2 keeps unchanged
	Method string // "" for a response
	ID     []byte // a request's id, unchanged; nil for a notification or response
	Params []byte // unchanged; empty if absent
}

// maxIDBytes bounds the id of a request, which is held in memory until the request is answered.
const maxIDBytes = 1024

// memberNames are the members that jsonrpc2 decodes. Like encoding/json, it ignores the case of their letters.
var memberNames = [...]string{"jsonrpc", "id", "method", "params", "result", "error", "meta"}

const (
	memberID     = 1
	memberMethod = 2
	memberParams = 3
	memberResult = 4
	memberError  = 5
)

// Parse returns the message in a line, or the fault of the line.
//
// With a Fault it returns a Message with the ID to answer, if the line has one. If a response cannot be read, Line is
// an error response, so that the waiting caller does not wait forever.
func Parse(line []byte) (Message, *Fault) {
	switch {
	case !json.Valid(line):
		return Message{}, faultNotJSON
	case line[0] == '[':
		return Message{}, faultBatch
	case line[0] != '{':
		return Message{}, faultNotObject
	}
	m, ok := findMembers(line)
	if !ok {
		return Message{}, faultMember
	}
	isRequest, isResponse := m.has(memberMethod), m.has(memberResult) || m.has(memberError)
	switch {
	case isRequest && isResponse:
		return Message{}, faultBoth
	case isResponse:
		return parseResponse(line, &m)
	case isRequest:
		return parseRequest(line, &m)
	}
	return Message{}, faultNoMessage
}

// members holds the positions in a line of the members in memberNames.
type members [len(memberNames)]span

func (m *members) has(member int) bool { return m[member] != span{} }

// value returns a member's value, or nothing if the member is absent.
func (m *members) value(line []byte, member int) []byte { return line[m[member].from:m[member].to] }

// findMembers fails if a member appears twice, or in a different case: decoders disagree about which one counts.
func findMembers(line []byte) (m members, ok bool) {
	for name, value := range eachMember(line) {
		for i, known := range memberNames {
			if string(name) == known && !m.has(i) {
				m[i] = value
				break
			} else if bytes.EqualFold(name, []byte(known)) {
				return m, false
			}
		}
	}
	return m, true
}

func parseRequest(line []byte, m *members) (Message, *Fault) {
	message := Message{Line: line, Params: m.value(line, memberParams)}
	if m.has(memberID) {
		id := m.value(line, memberID)
		if len(id) > maxIDBytes {
			return Message{}, faultLongID
		}
		substitute, ok := substituteID(id)
		if !ok {
			return Message{}, faultID
		}
		if substitute != nil {
			message.Line = bytes.Join([][]byte{line[:m[memberID].from], line[m[memberID].to:]}, substitute)
		}
		message.ID = id
	}
	var isString bool
	if message.Method, isString = stringOf(m.value(line, memberMethod)); !isString {
		return Message{ID: message.ID}, faultMethod
	}
	return message, nil
}

func parseResponse(line []byte, m *members) (Message, *Fault) {
	id, result, failure := m.value(line, memberID), m.value(line, memberResult), m.value(line, memberError)
	decoded, ok := decodeID(id)
	if !ok || string(id) == "null" {
		return Message{}, faultStrayResponse
	}
	// jsonrpc2 decodes both into any, and the error into its own type.
	var e *jsonrpc2.Error
	readsError := len(failure) == 0 || json.Unmarshal(failure, &e) == nil
	if !decodes(result) || !decodes(failure) || !readsError || len(result) == 0 && e == nil {
		encoded, _ := decoded.MarshalJSON()
		return Message{Line: AppendError(nil, encoded, &jsonrpc2.Error{
			Code: jsonrpc2.CodeInternalError, Message: "acpterm: the line " + faultResponse.Reason,
		})}, faultResponse
	}
	return Message{Line: line}, nil
}

// decodes reports whether a valid value can be decoded into any, which fails only for numbers out of range. It does not
// decode the value, which could take many times the memory of the line.
func decodes(value []byte) bool {
	for n := 0; n < len(value); n++ {
		switch c := value[n]; {
		case c == '"':
			n += skipString(value[n:]) - 1
		case c == '-' || '0' <= c && c <= '9':
			rest := bytes.TrimLeft(value[n:], "+-.0123456789Ee")
			if _, err := strconv.ParseFloat(string(value[n:len(value)-len(rest)]), 64); err != nil {
				return false
			}
			n = len(value) - len(rest) - 1
		}
	}
	return true
}
