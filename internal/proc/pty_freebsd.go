package proc

// This file opens PTYs on FreeBSD (man 4 pts). It is compiled and vetted; it has never run.

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA
	utf8Input              = 0 // IUTF8 requires FreeBSD 15
)

func openMaster() (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_POSIX_OPENPT, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, os.NewSyscallError("posix_openpt", errno)
	}
	return int(fd), nil
}

func openSlave(master int) (int, error) {
	number, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return -1, os.NewSyscallError("ioctl TIOCGPTN", err)
	}
	return openTerminal("/dev/pts/" + strconv.Itoa(number))
}
