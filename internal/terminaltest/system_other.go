//go:build !linux && !darwin && !freebsd

package terminaltest

// systemTests returns the tests of this system in addition to the portable ones.
func systemTests() []test { return nil }
