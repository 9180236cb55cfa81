//go:build wine

package acpterm_test

// Built with the tag wine, the tests' own files can be removed under Wine 8: it does not know how os.RemoveAll
// asks, and its answer is not one that makes Go ask in the old way. Go's own tests have a switch for that. To
// reach it takes the linker's flag -checklinkname=0; .ci/windows-tests has both.

import _ "unsafe" // for go:linkname

//go:linkname removeAllInTheOldWay internal/syscall/windows.TestDeleteatFallback
var removeAllInTheOldWay bool

func init() { removeAllInTheOldWay = underWine() }
