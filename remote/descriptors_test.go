//go:build !windows

package remote

import "os"

// openDescriptors returns the number of open descriptors of this process, or 0 without /proc.
func openDescriptors() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
