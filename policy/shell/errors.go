package shell

// The errors of Parse: use errors.Is to find the kind, and errors.As to find the *Error with the position.

import (
	"fmt"
	"strings"
)

// Kind is the reason why a line is refused. It is an error, so errors.Is(err, shell.ErrHidden) works.
type Kind string

// The kinds of refusal.
const (
	// ErrSyntax means that the line is not POSIX shell.
	ErrSyntax Kind = "syntax"
	// ErrNotPortable means a construct that dash and bash read differently, or that one of them lacks.
	ErrNotPortable Kind = "not_portable"
	// ErrUnknownCommand means a command word whose text is unknown before the line runs.
	ErrUnknownCommand Kind = "unknown_command"
	// ErrHidden means a command that runs text outside the line, or text that cannot be analysed: eval, ".", a shell
	// that reads its input, a trap, arithmetic on variables.
	ErrHidden Kind = "hidden"
	// ErrOption means an option of a prefix program whose text is unknown or missing in the table.
	ErrOption Kind = "option"
	// ErrBuiltin means a builtin whose arguments change how the shell reads or finds things.
	ErrBuiltin Kind = "builtin"
	// ErrVariable means an assignment to a variable that changes how names are found or lines are read.
	ErrVariable Kind = "variable"
	// ErrFunction means a function definition: a function can take the name of any program.
	ErrFunction Kind = "function"
	// ErrDirectory means a name such as ./x after a change of the directory.
	ErrDirectory Kind = "directory_changed"
	// ErrCharacter means a byte that shells treat differently: a control character, or invalid UTF-8.
	ErrCharacter Kind = "character"
	// ErrTooLarge means that the line is too long, or nested too deeply.
	ErrTooLarge Kind = "too_large"
)

// Error returns the kind as text.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error describes why Parse refuses a line.
type Error struct {
	Kind Kind
	// Reason describes the problem.
	Reason string
	// Line and Column are the start of the refused piece, counted from 1. Column counts bytes. For a piece inside the
	// text of `sh -c TEXT`, they are the start of TEXT.
	Line, Column uint
	// Text is the refused piece of the line. It may be long, and it comes from the agent.
	Text string
}

// shownText is the maximum number of characters of the piece in a message.
const shownText = 60

// Error returns the position, the kind, the reason and the piece.
func (e *Error) Error() string {
	shown := []rune(e.Text)
	tail := ""
	if len(shown) > shownText {
		shown, tail = shown[:shownText], "..."
	}
	return fmt.Sprintf("shell: %d:%d: %s: %s: %q%s", e.Line, e.Column, e.Kind.Error(), e.Reason, string(shown), tail)
}

// Unwrap lets errors.Is find the kind.
func (e *Error) Unwrap() error { return e.Kind }
