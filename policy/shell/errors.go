package shell

// The errors returned by Parse. Use errors.Is to test for a kind, and errors.As to get the *Error with its position.

import (
	"fmt"
	"strings"
)

// A Kind describes why a line was rejected. It implements the error interface so that it can be passed to errors.Is, as
// in errors.Is(err, shell.ErrHidden).
type Kind string

// Reasons for rejecting a line.
const (
	// ErrSyntax indicates that the line is not valid POSIX shell.
	ErrSyntax Kind = "syntax"
	// ErrNotPortable indicates a construct that dash and bash interpret differently, or that only one of them supports.
	ErrNotPortable Kind = "not_portable"
	// ErrUnknownCommand indicates that the name of a command is not known until the line is run.
	ErrUnknownCommand Kind = "unknown_command"
	// ErrHidden indicates a command that runs text from outside the line, or text that cannot be analysed. Examples are
	// eval, ".", a shell that runs its input, and arithmetic on variables.
	ErrHidden Kind = "hidden"
	// ErrOption indicates that an option of a prefix program is missing from the table of known options, or that the
	// text of the option is not known.
	ErrOption Kind = "option"
	// ErrBuiltin indicates a builtin with arguments that run text, as with trap, or that affect how the shell reads
	// lines or looks up names.
	ErrBuiltin Kind = "builtin"
	// ErrVariable indicates an assignment to a variable that affects how the shell reads lines or looks up names.
	ErrVariable Kind = "variable"
	// ErrFunction indicates a function definition. Functions are rejected because they can have the name of any
	// program.
	ErrFunction Kind = "function"
	// ErrDirectory indicates that a relative name, such as ./x, is used after the working directory may have changed.
	ErrDirectory Kind = "directory_changed"
	// ErrCharacter indicates a control character or invalid UTF-8, because not all shells treat these bytes alike.
	ErrCharacter Kind = "character"
	// ErrTooLarge indicates that the line is too long or too deeply nested.
	ErrTooLarge Kind = "too_large"
)

// Error returns the kind as text, with underscores replaced by spaces.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error is the error returned by Parse for a rejected line.
type Error struct {
	Kind Kind
	// Reason describes the problem.
	Reason string
	// Line and Column are the position where the rejected text starts. Both are 1-based, and Column is measured in
	// bytes. For text inside the TEXT of `sh -c TEXT`, they are the position where TEXT starts.
	Line, Column uint
	// Text is the rejected part of the line. Note that it is supplied by the agent and may be long.
	Text string
}

// shownText is the maximum number of characters of Text in a message.
const shownText = 60

// Error returns a message that contains the position, the kind, the reason, and up to 60 characters of Text.
func (e *Error) Error() string {
	shown := []rune(e.Text)
	tail := ""
	if len(shown) > shownText {
		shown, tail = shown[:shownText], "..."
	}
	return fmt.Sprintf("shell: %d:%d: %s: %s: %q%s", e.Line, e.Column, e.Kind.Error(), e.Reason, string(shown), tail)
}

// Unwrap returns e.Kind.
func (e *Error) Unwrap() error { return e.Kind }
