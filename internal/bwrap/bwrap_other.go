//go:build !linux

package bwrap

// Sandbox cannot be made here.
type Sandbox struct{}

// New fails with an *Error: bubblewrap is for Linux.
func New(Options) (*Sandbox, error) { return nil, &Error{Reason: "bubblewrap is for Linux"} }

// Wrap is never called.
func (*Sandbox) Wrap(Command) (Wrapped, error) {
	return Wrapped{}, &Error{Reason: "bubblewrap is for Linux"}
}
