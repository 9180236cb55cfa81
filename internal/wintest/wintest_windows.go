// Package wintest queries Windows for tests: the open handles of this process, the state of a pipe, and whether this is
// Wine. Only tests import it.
package wintest

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	procQueryObject   = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtQueryObject")
	procWineVersion   = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version")
	procPeekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")
)

// UnderWine reports whether this is Wine, which has a function that says so.
func UnderWine() bool { return procWineVersion.Find() == nil }

// OpenHandles counts this process's handles of processes, jobs, files and pipes. Go's runtime holds handles of other
// kinds for each of its threads, so their number means nothing.
func OpenHandles() (n int) {
	for handle := windows.Handle(4); handle < 1<<14; handle += 4 {
		switch handleType(handle) {
		case "Process", "Job", "File":
			n++
		}
	}
	return n
}

// handleType returns the name of the kind of object behind a handle, or "" if the handle is not open.
func handleType(handle windows.Handle) string {
	const objectTypeInformation = 2 // begins with the name, as a UNICODE_STRING
	buffer := make([]uint64, 128)
	status, _, _ := procQueryObject.Call(uintptr(handle), objectTypeInformation,
		uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)*8), 0)
	if status != 0 {
		return ""
	}
	return (*windows.NTUnicodeString)(unsafe.Pointer(&buffer[0])).String()
}

// HasWriter reports whether the other end of a pipe is open.
func HasWriter(pipe *os.File) (open bool) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(handle uintptr) {
		ok, _, _ := procPeekNamedPipe.Call(handle, 0, 0, 0, 0, 0)
		open = ok != 0
	})
	return open
}
