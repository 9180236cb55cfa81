//go:build !linux

package runctest

import "testing"

// Start skips the test.
func Start(t testing.TB) *Container {
	t.Helper()
	skip(t, "runc is for Linux only")
	return nil
}
