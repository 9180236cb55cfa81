package remote

import "github.com/acpterm/acpterm/internal/wintest"

// openDescriptors is how many handles this process has open, of the kinds that the library makes. Under Wine there is
// /proc/self/fd too, but what is in it is Wine's own.
func openDescriptors() int { return wintest.OpenHandles() }
