package terminaltest

import "slices"

// systemTests are those of this system, besides the portable ones.
func systemTests() []test {
	return slices.Concat(anywhereTests(), outputUnixTests(), treeTests(), lookupTests(), limitLinuxTests())
}
