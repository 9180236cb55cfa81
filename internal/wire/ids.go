package wire

// Ids that jsonrpc2 would not give back as they came. It has room for strings and for whole numbers of 64 bits, gives
// negative numbers back as others, and ends the connection at everything else. It sees a string in place of such an id.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"
)

// rawID begins an id that stands for the one that follows, as it came.
const rawID = "raw-id:"

// substituteID returns the id that jsonrpc2 gets in place of one that came, nil if it gets that one. It is not ok if
// what came is no id.
func substituteID(id []byte) (substitute []byte, ok bool) {
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
	substitute, _ = json.Marshal(rawID + string(ValidID(id)))
	return substitute, true
}

// ValidID returns a copy of an id in valid UTF-8. As JSON readers do, it replaces each invalid byte by U+FFFD.
func ValidID(id []byte) []byte { return []byte(string([]rune(string(id)))) }

// RequestID returns the id that jsonrpc2 has for a request which came with this one. raw may be anything; it is not ok
// if that is no id.
func RequestID(raw []byte) (id jsonrpc2.ID, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return id, false
	}
	substitute, ok := substituteID(raw)
	switch {
	case substitute != nil:
		return decodeID(substitute)
	case raw[0] == '"':
		id.Str, id.IsString = stringOf(raw)
		return id, id.IsString
	}
	var err error
	id.Num, err = strconv.ParseUint(string(raw), 10, 64)
	return id, ok && err == nil
}

// decodeID returns an id as jsonrpc2 decodes it.
func decodeID(encoded []byte) (id jsonrpc2.ID, ok bool) {
	err := json.Unmarshal(encoded, &id)
	return id, err == nil
}

// restoreID puts the id that came back into a response that has its substitute.
func restoreID(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"`+rawID)) {
		return line
	}
	for name, value := range eachMember(line) {
		id, _ := stringOf(line[value.from:value.to])
		if raw, substituted := strings.CutPrefix(id, rawID); substituted && string(name) == memberNames[memberID] {
			return slices.Concat(line[:value.from], []byte(raw), line[value.to:])
		}
	}
	return line
}
