package acpterm

// A directory held by a descriptor: a command that is started in it through that gets this very directory, whatever
// happens to its name.

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// heldDir is the descriptor.
type heldDir int

func openDir(path string) (heldDir, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) })
	return heldDir(fd), err
}

// path is a name for it that works in this process, and in its child before that executes its program.
func (d heldDir) path(string) string { return "/proc/self/fd/" + strconv.Itoa(int(d)) }

func (d heldDir) close() { unix.Close(int(d)) }

// changeTime is when a file was last changed, its mode and its times too: nobody can set it back.
func changeTime(info os.FileInfo) syscall.Timespec {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim
	}
	return syscall.Timespec{}
}

// onlyRootWrites reports whether only root can have opened a file for writing, and this process is not root's.
func onlyRootWrites(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0 && info.Mode()&0o022 == 0 && os.Geteuid() != 0
}

// retry makes a system call again for as long as signals interrupt it.
func retry(call func() (int, error)) (n int, err error) {
	for n, err = call(); err == unix.EINTR; {
		n, err = call()
	}
	return n, err
}
