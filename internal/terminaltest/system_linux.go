package terminaltest

import "slices"

// systemTests returns the tests of this system in addition to the portable ones.
func systemTests() []test {
	return slices.Concat(anywhereTests(), outputUnixTests(), treeTests(), lookupTests(), limitLinuxTests())
}
