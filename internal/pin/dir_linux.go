package pin

// Open directories, on Linux.

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// dirHandle is an O_PATH descriptor of a directory.
type dirHandle int

func openDir(path string) (dirHandle, error) {
	for {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return dirHandle(fd), err
		}
	}
}

func (d dirHandle) path(string) string { return "/proc/self/fd/" + strconv.Itoa(int(d)) }

func (d dirHandle) close() { unix.Close(int(d)) }

// changeTime returns the time of the last change to a file's contents or inode, which no process can set.
func changeTime(info os.FileInfo) syscall.Timespec {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim
	}
	return syscall.Timespec{}
}

// onlyRootWrites reports whether only root can open a file for writing, and this process does not run as root.
func onlyRootWrites(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0 && info.Mode()&0o022 == 0 && os.Geteuid() != 0
}
