//go:build !linux && !darwin && !freebsd

package terminaltest

// systemTests are those of this system, besides the portable ones.
func systemTests() []test { return nil }
