package wire

// Ids that jsonrpc2 would not return unchanged. It supports strings and 64-bit whole numbers, changes negative numbers,
// and ends the connection on anything else. It sees a string instead of such an id.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"
)

// rawID begins a substitute id. The original id follows it, unchanged.
const rawID = "raw-id:"

// substituteID returns the id that jsonrpc2 sees instead of id, or nil if it sees id. ok is false if id is not an id.
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

// RequestID returns jsonrpc2's id for a request received with the id raw. ok is false if raw is not an id.
func RequestID(raw []byte) (id jsonrpc2.ID, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return id, false
	}
	substitute, ok := substituteID(raw)
	if substitute != nil {
		raw = substitute
	}
	if raw[0] == '"' {
		id.Str, id.IsString = stringOf(raw)
		return id, id.IsString
	}
	var err error
	id.Num, err = strconv.ParseUint(string(raw), 10, 64)
	return id, ok && err == nil
}

func decodeID(encoded []byte) (id jsonrpc2.ID, ok bool) {
	err := json.Unmarshal(encoded, &id)
	return id, err == nil
}

// restoreID replaces a substitute id in a response with the original.
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
