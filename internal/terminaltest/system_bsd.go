//go:build darwin || freebsd

package terminaltest

// The tests for macOS and FreeBSD.

import "slices"

// systemTests returns the tests of this system in addition to the portable ones.
func systemTests() []test {
	return slices.Concat(anywhereTests(), outputUnixTests(), treeTests(), lookupTests())
}
