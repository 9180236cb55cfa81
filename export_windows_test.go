package acpterm

// What the tests of other packages, and those of the package from outside, ask Windows.

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

var procQueryObject = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtQueryObject")

// OpenHandles counts this process's handles of processes, jobs, files and pipes. Of other kinds Go's runtime has
// some for each of its threads, so their number says nothing.
func OpenHandles() (n int) {
	for handle := windows.Handle(4); handle < 1<<14; handle += 4 {
		switch handleType(handle) {
		case "Process", "Job", "File":
			n++
		}
	}
	return n
}

// handleType is the name of the kind of object behind a handle; empty if it is none.
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

// HasWriter reports whether somebody has the other end of a pipe open.
func HasWriter(pipe *os.File) bool {
	_, err := unread(pipe)
	return err == nil
}
