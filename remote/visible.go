package remote

// Text of a remote in errors and progress: nothing in it is hidden, steers a terminal or changes the order of the rest.

import "github.com/acpterm/acpterm/display"

const (
	maxText      = 4 << 10  // bytes of one text of a remote
	maxErrorText = 16 << 10 // bytes of an error, with all that it wraps
)

// visible returns one text of a remote as an error can show it.
func visible(text string) string { return display.Visible(text, maxText) }

// visibleError is an error of a Transport or a helper, whose text may have text of the remote in it.
type visibleError struct{ err error }

func (e visibleError) Error() string { return display.Visible(e.err.Error(), maxErrorText) }

func (e visibleError) Unwrap() error { return e.err }
