//go:build !linux

package acpterm

// NewBubblewrap fails with ErrInternal: bubblewrap is for Linux.
func NewBubblewrap(*BubblewrapOptions) (Wrapper, error) {
	return nil, &Error{Op: "bubblewrap", Kind: ErrInternal, Reason: "bubblewrap is for Linux"}
}
