//go:build !windows

package remote

import "os"

// openDescriptors is how many this process has open, where there is /proc.
func openDescriptors() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
