package capture

import "golang.org/x/sys/unix"

// fionread is the ioctl that returns the number of unread bytes in a pipe (man 2 ioctl_tty: FIONREAD is TIOCINQ).
const fionread = unix.TIOCINQ
