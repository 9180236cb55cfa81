package proc

// This file opens PTYs on macOS (XNU bsd/kern/tty_ptmx.c). It is compiled and vetted; it has never run.

import (
	"bytes"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA
	utf8Input              = unix.IUTF8
)

func openMaster() (int, error) {
	fd, err := openTerminal("/dev/ptmx")
	if err != nil {
		return -1, err
	}
	if err := unix.IoctlSetInt(fd, unix.TIOCPTYGRANT, 0); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("ioctl TIOCPTYGRANT", err)
	}
	if err := unix.IoctlSetInt(fd, unix.TIOCPTYUNLK, 0); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("ioctl TIOCPTYUNLK", err)
	}
	return fd, nil
}

func openSlave(master int) (int, error) {
	var name [128]byte // TIOCPTYGNAME includes the size
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(master), unix.TIOCPTYGNAME,
		uintptr(unsafe.Pointer(&name[0])))
	if errno != 0 {
		return -1, os.NewSyscallError("ioctl TIOCPTYGNAME", errno)
	}
	return openTerminal(string(name[:max(0, bytes.IndexByte(name[:], 0))]))
}
