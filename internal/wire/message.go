package wire

// What a line of the connection is: a message that jsonrpc2 can take, or what is wrong with it. It looks closely,
// because jsonrpc2 ends the connection for a line that it cannot decode, and answers some ids with others. It knows
// bytes, and neither connections nor terminals.

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// span is where a member's value is in a line; the zero span is a member that is not there.
type span struct{ from, to int }

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

// rawID marks an id of ours for jsonrpc2, which stands for what follows as it came. jsonrpc2 has room for strings and
// for whole numbers of 64 bits, gives negative ones back as others, and ends the connection for the rest.
const rawID = "raw-id:"

// takenID returns the id that jsonrpc2 shall see in place of one that came, nil if it is good as it is; not ok if it
// is no id.
func takenID(id []byte) (taken []byte, ok bool) {
	switch c := id[0]; {
	case c == '"':
		text, _ := stringOf(id)
		lost := strings.ContainsRune(text, utf8.RuneError) &&
			(!utf8.Valid(id) || bytes.Contains(bytes.ToLower(id), []byte(`\ud`))) // half of a surrogate pair
		if !lost && !strings.HasPrefix(text, rawID) {
			return nil, true
		}
	case '0' <= c && c <= '9':
		if _, err := strconv.ParseInt(string(id), 10, 64); err == nil {
			return nil, true
		}
	case c != '-':
		return nil, false
	}
	taken, _ = json.Marshal(rawID + string(bytes.ToValidUTF8(id, []byte(string(utf8.RuneError)))))
	return taken, true
}

// RequestID is the id that jsonrpc2 has for a request which came with this one. raw may be anything.
func RequestID(raw []byte) (id jsonrpc2.ID, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return id, false
	}
	taken, ok := takenID(raw)
	switch {
	case taken != nil:
		return decodedID(taken)
	case raw[0] == '"':
		id.Str, id.IsString = stringOf(raw)
		return id, id.IsString
	}
	var err error
	id.Num, err = strconv.ParseUint(string(raw), 10, 64)
	return id, ok && err == nil
}

// decodedID is an id as jsonrpc2 reads it.
func decodedID(encoded []byte) (id jsonrpc2.ID, ok bool) {
	err := json.Unmarshal(encoded, &id)
	return id, err == nil
}

// WireID is an id of jsonrpc2's as it goes on the wire.
func WireID(id jsonrpc2.ID) []byte {
	if raw, wrapped := strings.CutPrefix(id.Str, rawID); wrapped {
		return []byte(raw)
	}
	encoded, _ := id.MarshalJSON()
	return encoded
}

// unwrapID puts an id that takenID has replaced back into a line that jsonrpc2 made. Its responses begin with the id.
func unwrapID(line []byte) []byte {
	const before = `{"id":`
	if !bytes.HasPrefix(line, []byte(before+`"`+rawID)) {
		return line
	}
	end := len(before) + skipString(line[len(before):])
	var text string
	json.Unmarshal(line[len(before):end], &text)
	return slices.Concat([]byte(before), []byte(strings.TrimPrefix(text, rawID)), line[end:])
}

// eachMember goes through the members of an object. data is valid JSON and begins with "{".
func eachMember(data []byte) iter.Seq2[[]byte, span] {
	return func(yield func([]byte, span) bool) {
		for at := 1; ; at++ { // data[at] is after "{" or ","
			at += skipSpace(data[at:])
			if data[at] == '}' {
				return
			}
			end := at + skipString(data[at:])
			name := data[at+1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				text, _ := stringOf(data[at:end])
				name = []byte(text)
			}
			at = end + skipSpace(data[end:]) + 1 // ":"
			at += skipSpace(data[at:])
			end = at + skipValue(data[at:])
			if !yield(name, span{at, end}) {
				return
			}
			at = end + skipSpace(data[end:])
			if data[at] == '}' {
				return
			}
		}
	}
}

// stringOf is the text of a JSON string; not ok if the value is something else. It takes what encoding/json takes, and
// most strings more quickly.
func stringOf(value []byte) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	if inside := value[1 : len(value)-1]; bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		return string(inside), true
	}
	var decoded string // not text, which would be put on the heap for those above too
	err := json.Unmarshal(value, &decoded)
	return decoded, err == nil
}

// The skip functions return how long what valid JSON begins with is.

func skipSpace(data []byte) int {
	n := 0
	for n < len(data) && (data[n] == ' ' || data[n] == '\t' || data[n] == '\r' || data[n] == '\n') {
		n++
	}
	return n
}

func skipString(data []byte) int {
	for n := 1; ; n++ {
		switch data[n] {
		case '\\':
			n++
		case '"':
			return n + 1
		}
	}
}

func skipValue(data []byte) int {
	depth := 0
	for n := 0; ; n++ {
		switch data[n] {
		case '"':
			n += skipString(data[n:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 {
				return n + bytes.IndexAny(data[n:], ",}] \t\r\n")
			}
			continue
		}
		if depth == 0 {
			return n + 1
		}
	}
}
