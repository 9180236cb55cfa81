package view

// Keys: how paths, pages and the table name a terminal.

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/acpterm/acpterm"
)

// keyOf returns the key of a terminal of a view's manager with this number: letters, digits, '-' and '_', of any ids the
// same number. Ids that an agent chose can be long, have any characters, and be those of another session's terminal.
func keyOf(manager int, session acpterm.SessionID, id acpterm.TerminalID) string {
	return digest(fmt.Sprintf("%d %d %s%s", manager, len(session), session, id))
}

// sessionKeyOf returns the key of a manager's session.
func sessionKeyOf(manager int, session acpterm.SessionID) string {
	return digest(fmt.Sprintf("%d %s", manager, session))
}

// digest returns a text's hash.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}
