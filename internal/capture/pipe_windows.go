package capture

// Reading from a pipe, and counting its unread bytes, on Windows.

import (
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

var procPeekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// readPipe reads from a pipe. A write of zero bytes makes a read return zero bytes, which os.File reports as end of
// file. So readPipe asks the pipe whether it has really ended.
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

// unread returns the number of unread bytes in a pipe. It fails if the pipe has ended.
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
