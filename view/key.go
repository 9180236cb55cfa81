package view

// Keys name a terminal in paths, pages and the table.

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/acpterm/acpterm"
)

// keyOf returns the key of a terminal: letters, digits, '-' and '_', of the same length for any ids. manager is the
// number of the view's manager. Ids chosen by an agent can be long, contain any characters, and equal those of another
// session's terminal.
func keyOf(manager int, session acpterm.SessionID, id acpterm.TerminalID) string {
	return digest(fmt.Sprintf("%d %d %s%s", manager, len(session), session, id))
}

// sessionKeyOf returns the key of a manager's session.
func sessionKeyOf(manager int, session acpterm.SessionID) string {
	return digest(fmt.Sprintf("%d %s", manager, session))
}

// digest returns the hash of a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}
