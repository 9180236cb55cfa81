package shell

// The errors returned by Parse. Use errors.Is to test for a kind, and errors.As to get the *Error with its position.

import (
	"fmt"
	"strings"
)

// A Kind describes why a line was rejected. It can be used with errors.Is, as in errors.Is(err, shell.ErrHidden).
type Kind string

// Reasons for rejecting a line.
const (
	// ErrSyntax indicates that the line is not valid POSIX shell.
	ErrSyntax Kind = "syntax"
	// ErrNotPortable indicates a construct that dash and bash read differently, or that one of them lacks.
	ErrNotPortable Kind = "not_portable"
	// ErrUnknownCommand indicates that the name of a command is not known until the line runs.
	ErrUnknownCommand Kind = "unknown_command"
	// ErrHidden indicates a command that runs text from outside the line, or text that cannot be analysed: eval, ".", a
	// shell reading its input, a trap, arithmetic on variables.
	ErrHidden Kind = "hidden"
	// ErrOption indicates that an option of a prefix program is missing from the table, or that its text is not known.
	ErrOption Kind = "option"
	// ErrBuiltin indicates a builtin whose arguments affect how the shell reads or finds things.
	ErrBuiltin Kind = "builtin"
	// ErrVariable indicates an assignment to a variable that affects how names are found or lines are read.
	ErrVariable Kind = "variable"
	// ErrFunction indicates a function definition, because a function can take the name of any program.
	ErrFunction Kind = "function"
	// ErrDirectory indicates a relative name, such as ./x, used after the directory may have changed.
	ErrDirectory Kind = "directory_changed"
	// ErrCharacter indicates a byte that shells treat differently: a control character or invalid UTF-8.
	ErrCharacter Kind = "character"
	// ErrTooLarge indicates that the line is too long or too deeply nested.
	ErrTooLarge Kind = "too_large"
)

// Error returns the kind as text, with spaces instead of underscores.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error is the error returned by Parse for a rejected line.
type Error struct {
	Kind Kind
	// Reason describes the problem.
	Reason string
	// Line and Column are the position where the rejected text starts, both counted from 1. Column is in bytes. For
	// text inside the TEXT of `sh -c TEXT`, they are the position where TEXT starts.
	Line, Column uint
	// Text is the rejected part of the line. It comes from the agent and may be long.
	Text string
}

// shownText is the maximum number of characters of Text in a message.
const shownText = 60

// Error returns a message with the position, kind, reason, and up to 60 characters of Text.
func (e *Error) Error() string {
	shown := []rune(e.Text)
	tail := ""
	if len(shown) > shownText {
		shown, tail = shown[:shownText], "..."
	}
	return fmt.Sprintf("shell: %d:%d: %s: %s: %q%s", e.Line, e.Column, e.Kind.Error(), e.Reason, string(shown), tail)
}

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }
