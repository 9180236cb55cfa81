package remote

import "github.com/acpterm/acpterm/internal/wintest"

// openDescriptors returns the number of open handles of this process, of the kinds that the library makes. Wine also
// has /proc/self/fd, but it lists Wine's own descriptors.
func openDescriptors() int { return wintest.OpenHandles() }
