//go:build darwin || freebsd

package terminaltest

// The tests that macOS and FreeBSD have.

import "slices"

// systemTests are those of this system, besides the portable ones.
func systemTests() []test {
	return slices.Concat(anywhereTests(), outputUnixTests(), treeTests(), lookupTests())
}
