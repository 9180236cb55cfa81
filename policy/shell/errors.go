package shell

// The errors returned by Parse. Use errors.Is to test for a kind, and errors.As to get the *Error with its position.

import (
	"fmt"
	"strings"
)

// A Kind is a reason to reject a line. It implements error, so errors.Is(err, shell.ErrHidden) works.
type Kind string

// The reasons to reject a line.
const (
	// ErrSyntax indicates that the line is not valid POSIX shell.
	ErrSyntax Kind = "syntax"
	// ErrNotPortable indicates a construct read differently by dash and bash, or missing in one of them.
	ErrNotPortable Kind = "not_portable"
	// ErrUnknownCommand indicates a command word whose text is not known until the line runs.
	ErrUnknownCommand Kind = "unknown_command"
	// ErrHidden indicates a command running text outside the line, or text that cannot be analysed: eval, ".", a shell
	// reading its input, a trap, arithmetic on variables.
	ErrHidden Kind = "hidden"
	// ErrOption indicates an unknown option of a prefix program: its text is not known, or the table lacks it.
	ErrOption Kind = "option"
	// ErrBuiltin indicates a builtin whose arguments change how the shell reads or finds things.
	ErrBuiltin Kind = "builtin"
	// ErrVariable indicates an assignment to a variable that changes how names are found or lines are read.
	ErrVariable Kind = "variable"
	// ErrFunction indicates a function definition, because a function can take the name of any program.
	ErrFunction Kind = "function"
	// ErrDirectory indicates a relative name such as ./x after the directory may have changed.
	ErrDirectory Kind = "directory_changed"
	// ErrCharacter indicates a byte treated differently by shells: a control character, or invalid UTF-8.
	ErrCharacter Kind = "character"
	// ErrTooLarge indicates that the line is too long, or too deeply nested.
	ErrTooLarge Kind = "too_large"
)

// Error returns the kind as text, with spaces instead of underscores.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error is returned by Parse for a rejected line.
type Error struct {
	Kind Kind
	// Reason is a description of the problem.
	Reason string
	// Line and Column are the position where the rejected text starts. Both start at 1, and Column counts bytes. For
	// text inside TEXT of `sh -c TEXT`, they are the position where TEXT starts.
	Line, Column uint
	// Text is the rejected part of the line. It may be long and is controlled by the agent.
	Text string
}

// shownText is the maximum number of characters of the piece in a message.
const shownText = 60

// Error returns a message with the position, the kind, the reason and the first 60 characters of Text.
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
