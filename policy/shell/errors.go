package shell

// The errors of Parse: errors.Is finds the kind, errors.As the *Error with the position.

import (
	"fmt"
	"strings"
)

// Kind is the reason why a line is refused. It is an error itself, for errors.Is(err, shell.ErrHidden).
type Kind string

// The kinds of refusal.
const (
	// ErrSyntax is a line that is not POSIX shell.
	ErrSyntax Kind = "syntax"
	// ErrNotPortable is a construct that dash and bash read differently, or that one of them lacks.
	ErrNotPortable Kind = "not_portable"
	// ErrUnknownCommand is a command word whose text is not known before the line runs.
	ErrUnknownCommand Kind = "unknown_command"
	// ErrHidden is a command that runs text which is not in the line or cannot be analysed: eval, ".",
	// a shell that reads its input, a trap, arithmetic on variables.
	ErrHidden Kind = "hidden"
	// ErrOption is an option of a prefix program that is not in the table, or whose text is unknown.
	ErrOption Kind = "option"
	// ErrBuiltin is a builtin with arguments that change how the shell reads or finds things.
	ErrBuiltin Kind = "builtin"
	// ErrVariable is an assignment to a variable that changes how names are found or lines are read.
	ErrVariable Kind = "variable"
	// ErrFunction is a function definition: a function can take the name of any program.
	ErrFunction Kind = "function"
	// ErrDirectory is a name such as ./x after the directory was changed.
	ErrDirectory Kind = "directory_changed"
	// ErrCharacter is a byte that shells treat differently: a control character, or invalid UTF-8.
	ErrCharacter Kind = "character"
	// ErrTooLarge is a line that is too long, or nested too deeply.
	ErrTooLarge Kind = "too_large"
)

// Error is the kind as a text.
func (k Kind) Error() string { return strings.ReplaceAll(string(k), "_", " ") }

// Error is what Parse returns for a line that it refuses.
type Error struct {
	Kind Kind
	// Reason describes the problem.
	Reason string
	// Line and Column, from 1, are the start of the piece; Column counts bytes. For a piece inside the
	// text of `sh -c TEXT` they are the start of TEXT.
	Line, Column uint
	// Text is the piece of the line that is refused. It may be long, and it comes from the agent.
	Text string
}

// shownText is the number of characters of the piece in a message.
const shownText = 60

// Error names the position, the kind, the reason and the piece.
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
