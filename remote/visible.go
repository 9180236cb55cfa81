package remote

// Text from the remote side in errors and progress, made visible: it cannot hide anything, control a terminal or
// reorder other text.

import "github.com/acpterm/acpterm/display"

const (
	maxText      = 4 << 10  // bytes of one text
	maxErrorText = 16 << 10 // bytes of an error, including wrapped errors
)

// visible returns a text of the remote side in the form for errors.
func visible(text string) string { return display.Visible(text, maxText) }

// visibleError is an error of a Transport or a helper. Its text may include text of the remote side.
type visibleError struct{ err error }

func (e visibleError) Error() string { return display.Visible(e.err.Error(), maxErrorText) }

func (e visibleError) Unwrap() error { return e.err }
