package wire

// What a line of the connection is: a message that jsonrpc2 can take, or what is wrong with it. It looks closely,
// because jsonrpc2 ends the connection for a line that it cannot decode, and answers some ids with others. It knows
// bytes, and neither connections nor terminals.

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sourcegraph/jsonrpc2"
)

// Fault is what is wrong with a line, and what JSON-RPC says to answer (https://www.jsonrpc.org/specification#error_object).
type Fault struct {
	Reason string
	Code   int64 // 0: no answer. A response must not be answered, or two peers would go on for ever
}

var (
	faultEmpty         = &Fault{"is empty", 0}
	faultTooLong       = &Fault{"is longer than the limit", jsonrpc2.CodeInvalidRequest}
	faultNotJSON       = &Fault{"is not JSON", jsonrpc2.CodeParseError}
	faultBatch         = &Fault{"is an array; ACP has no batches", jsonrpc2.CodeInvalidRequest}
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

// AppendResult appends the line that answers a request with a result: its id as it goes on the wire, and the result as JSON.
func AppendResult(to, id, result []byte) []byte {
	to = append(appendResponseID(to, id), `"result":`...)
	return append(append(to, result...), "}\n"...)
}

// AppendError appends the line that answers a request with an error. id is as it goes on the wire; empty for null.
func AppendError(to, id []byte, e *jsonrpc2.Error) []byte {
	encoded, err := json.Marshal(e)
	if err != nil {
		panic(err) // its data was made by this package's
	}
	to = append(appendResponseID(to, id), `"error":`...)
	return append(append(to, encoded...), "}\n"...)
}

// appendResponseID appends what a response's line begins with.
func appendResponseID(to, id []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	return append(append(append(to, `{"jsonrpc":"2.0","id":`...), id...), ',')
}

// Message is a line that jsonrpc2 can take: whatever Parse returns, it decodes without an error.
type Message struct {
	Line   []byte // with an id that jsonrpc2 would not give back as it came in a form that it does
	Method string // empty: a response
	ID     []byte // a request's as it came; nil: a notification
	Params []byte // likewise; nil: there are none
}

// maxIDBytes is how long a request's id may be. Ids are held until there is an answer, which many requests may wait
// for.
const maxIDBytes = 1024

// The members of messages, as jsonrpc2 and encoding/json see them: in any case of letters.
var memberNames = [...]string{"jsonrpc", "id", "method", "params", "result", "error", "meta"}

const (
	memberID     = 1
	memberMethod = 2
	memberParams = 3
	memberResult = 4
	memberError  = 5
)

// Parse says what a line is: a message, or what is wrong with it. With a fault the message has the id to answer with,
// if the line has one; and if the line answers a request of ours, it is a response that says so, so that its caller does not wait.
func Parse(line []byte) (Message, *Fault) {
	switch {
	case len(line) == 0:
		return Message{}, faultEmpty
	case !json.Valid(line):
		return Message{}, faultNotJSON
	case line[0] == '[':
		return Message{}, faultBatch
	case line[0] != '{':
		return Message{}, faultNotObject
	}
	var members [len(memberNames)]span
	for name, value := range eachMember(line) {
		for i, known := range memberNames {
			if string(name) == known && members[i] == (span{}) {
				members[i] = value
				break
			} else if bytes.EqualFold(name, []byte(known)) {
				return Message{}, faultMember
			}
		}
	}
	has := func(member int) bool { return members[member] != span{} }
	value := func(member int) []byte { return line[members[member].from:members[member].to] }
	isResponse := has(memberResult) || has(memberError)
	switch {
	case has(memberMethod) && isResponse:
		return Message{}, faultBoth
	case isResponse:
		return parseResponse(line, value(memberID), value(memberResult), value(memberError))
	case !has(memberMethod):
		return Message{}, faultNoMessage
	}
	taken, id := line, []byte(nil)
	if has(memberID) {
		if len(value(memberID)) > maxIDBytes {
			return Message{}, faultLongID
		}
		asTaken, ok := takenID(value(memberID))
		if !ok {
			return Message{}, faultID
		}
		id = value(memberID)
		if asTaken != nil {
			taken = slices.Concat(line[:members[memberID].from], asTaken, line[members[memberID].to:])
		}
	}
	method, isString := stringOf(value(memberMethod))
	if !isString {
		return Message{ID: id}, faultMethod
	}
	return Message{taken, method, id, value(memberParams)}, nil
}

// parseResponse is Parse for a response.
func parseResponse(line, id, result, failure []byte) (Message, *Fault) {
	if len(id) == 0 || string(id) == "null" {
		return Message{}, faultStrayResponse
	}
	decoded, ok := decodedID(id)
	if !ok {
		return Message{}, faultStrayResponse
	}
	// jsonrpc2 decodes both into any, which has no room for every number, and the error into its own type.
	var e *jsonrpc2.Error
	for _, value := range [][]byte{result, failure} {
		if len(value) > 0 && json.Unmarshal(value, new(any)) != nil {
			return unreadableResponse(decoded), faultResponse
		}
	}
	if len(failure) > 0 && json.Unmarshal(failure, &e) != nil || len(result) == 0 && e == nil {
		return unreadableResponse(decoded), faultResponse
	}
	return Message{Line: line}, nil
}

func unreadableResponse(id jsonrpc2.ID) Message {
	encoded, _ := id.MarshalJSON()
	return Message{Line: AppendError(nil, encoded,
		&jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: "acpterm: the line " + faultResponse.Reason})}
}
