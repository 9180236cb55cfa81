//go:build wine

package wintest

// Built with the tag wine, tests can remove their own files under Wine 8. Wine does not support the request made by
// os.RemoveAll, and its answer does not make Go fall back to the old request. Go's own tests have a switch for that.
// Using it requires the linker flag -checklinkname=0; .ci/windows-tests has both.

import _ "unsafe" // for go:linkname

//go:linkname removeAllInTheOldWay internal/syscall/windows.TestDeleteatFallback
var removeAllInTheOldWay bool

func init() { removeAllInTheOldWay = UnderWine() }
