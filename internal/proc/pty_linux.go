package proc

// This file opens PTYs on Linux (man 4 pts).

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	getTermios, setTermios = unix.TCGETS, unix.TCSETS
	utf8Input              = unix.IUTF8
)

func openMaster() (int, error) {
	fd, err := openTerminal("/dev/ptmx")
	if err != nil {
		return -1, err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("ioctl TIOCSPTLCK", err)
	}
	return fd, nil
}

// openSlave opens a master's slave. TIOCGPTPEER (Linux 4.13) finds it regardless of the mount at /dev/pts.
func openSlave(master int) (int, error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	switch fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, flags); errno {
	case 0:
		return int(fd), nil
	case unix.ENOTTY, unix.EINVAL: // an older kernel
	default:
		return -1, os.NewSyscallError("ioctl TIOCGPTPEER", errno)
	}
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return -1, os.NewSyscallError("ioctl TIOCGPTN", err)
	}
	return openTerminal("/dev/pts/" + strconv.Itoa(number))
}
