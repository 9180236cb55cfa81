package server

// The parts of a pin on Linux.

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identify returns the identity of a file.
func identify(path string) (id identity, err error) {
	var s unix.Statx_t
	for {
		err = unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &s)
		if err != unix.EINTR {
			break
		}
	}
	if err == unix.ENOSYS || err == unix.EPERM { // before Linux 4.11, or under an older seccomp filter
		return identifyByStat(path)
	}
	id = identity{
		inode: fmt.Sprint(unix.Mkdev(s.Dev_major, s.Dev_minor), ":", s.Ino), size: int64(s.Size),
		modified: timeText(s.Mtime), changed: timeText(s.Ctime),
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		id.born = timeText(s.Btime)
	}
	return id, err
}

func timeText(t unix.StatxTimestamp) string { return fmt.Sprintf("%d.%09d", t.Sec, t.Nsec) }

// identifyByStat is identify without the birth time.
func identifyByStat(path string) (identity, error) {
	var s unix.Stat_t
	for {
		err := unix.Stat(path, &s)
		if err == unix.EINTR {
			continue
		}
		return identity{
			inode: fmt.Sprint(s.Dev, ":", s.Ino), size: s.Size,
			modified: fmt.Sprint(s.Mtim.Unix()), changed: fmt.Sprint(s.Ctim.Unix()),
		}, err
	}
}
