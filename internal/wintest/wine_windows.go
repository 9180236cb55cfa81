//go:build wine

package wintest

// Built with the tag wine, tests can remove their own files under Wine 8: it does not know how os.RemoveAll
// asks, and its answer is not one that makes Go ask in the old way. Go's own tests have a switch for that. To
// reach it takes the linker's flag -checklinkname=0; .ci/windows-tests has both.

import _ "unsafe" // for go:linkname

//go:linkname removeAllInTheOldWay internal/syscall/windows.TestDeleteatFallback
var removeAllInTheOldWay bool

func init() { removeAllInTheOldWay = UnderWine() }
