package capture

// Reading a pipe, and how many bytes lie in it, on Windows.

import (
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

var procPeekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// readPipe reads what lies in a pipe, or waits for it. A write of no bytes is read as no bytes, which os.File takes for
// the end; the pipe itself knows better.
func readPipe(pipe *os.File, p []byte) (n int, err error) {
	for {
		n, err = pipe.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if _, ended := unread(pipe); ended != nil {
			return n, err
		}
	}
}

// unread is how many bytes lie in a pipe.
func unread(pipe *os.File) (n int, err error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(handle uintptr) {
		var available uint32
		if ok, _, errno := procPeekNamedPipe.Call(handle, 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0); ok == 0 {
			err = os.NewSyscallError("PeekNamedPipe", errno)
		}
		n = int(available)
	})
	return n, errors.Join(controlErr, err)
}
