package shell

// The errors of parse.

import (
	"fmt"
	"strings"
)

// A kind tells why a line is refused. A message shows it with spaces instead of underscores.
type kind string

const (
	errSyntax         kind = "syntax"
	errNotPortable    kind = "not_portable"      // dash and bash read it differently, or only one of them has it
	errUnknownCommand kind = "unknown_command"   // a name only known when the line runs
	errHidden         kind = "hidden"            // runs text from outside of the line, or too hard to analyse
	errOption         kind = "option"            // an unknown option of a prefix program
	errBuiltin        kind = "builtin"           // arguments that run text, or change how lines and names are read
	errVariable       kind = "variable"          // changes how the shell reads lines or looks up names
	errFunction       kind = "function"          // may have the name of any program
	errDirectory      kind = "directory_changed" // ./x after a cd
	errCharacter      kind = "character"         // control characters and invalid UTF-8, which shells treat differently
	errTooLarge       kind = "too_large"         // too long, or nested too deeply
)

// A refusal is the error of a line that must not be run.
type refusal struct {
	Kind   kind
	Reason string
	// Line and Column are where the refused text starts, counted from 1 and in bytes. Within the TEXT of `sh -c TEXT`,
	// they are where TEXT starts.
	Line, Column uint
	Text         string // the refused text, as the agent wrote it
}

// shownText is the maximum number of characters of Text in a message.
const shownText = 60

func (e *refusal) Error() string {
	shown := []rune(e.Text)
	tail := ""
	if len(shown) > shownText {
		shown, tail = shown[:shownText], "..."
	}
	kind := strings.ReplaceAll(string(e.Kind), "_", " ")
	return fmt.Sprintf("shell: %d:%d: %s: %s: %q%s", e.Line, e.Column, kind, e.Reason, string(shown), tail)
}
