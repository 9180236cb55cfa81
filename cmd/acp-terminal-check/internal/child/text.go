package child

// The text of a step: bytes in an argument.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// encoded encodes a text as an argument: letters, digits and some signs stay, and every other byte becomes "_" and two
// hexadecimal digits. A client that mistreats arguments with blanks and quotes then fails only in the check of those.
func encoded(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-./:,+", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func decoded(text string) []byte {
	parts := strings.Split(text, "_")
	raw := []byte(parts[0])
	for _, part := range parts[1:] {
		if len(part) < 2 {
			os.Exit(95)
		}
		c, err := strconv.ParseUint(part[:2], 16, 8)
		if err != nil {
			os.Exit(95)
		}
		raw = append(append(raw, byte(c)), part[2:]...)
	}
	return raw
}

// Written returns the text of an Out or Err step. ok is false for other steps.
func Written(step string) (text string, ok bool) {
	verb, argument, _ := strings.Cut(step, "=")
	if verb != "out" && verb != "err" {
		return "", false
	}
	return string(decoded(argument)), true
}
