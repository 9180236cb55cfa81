package view

// Keys: how paths, pages and the table name a terminal.

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/acpterm/acpterm"
)

// keyOf returns the key of a session's terminal: letters, digits, '-' and '_', of any ids the same number. Ids that an
// agent chose can be long, have any characters, and be those of another session's terminal.
func keyOf(session acpterm.SessionID, id acpterm.TerminalID) string {
	return digest(fmt.Sprintf("%d %s%s", len(session), session, id))
}

// digest returns a text's hash.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}
