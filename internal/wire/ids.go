package wire

// Ids that jsonrpc2 would not give back as they came.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"
)

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
