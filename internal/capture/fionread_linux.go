package capture

import "golang.org/x/sys/unix"

// fionread asks how many bytes lie in a pipe (man 2 ioctl_tty: FIONREAD is TIOCINQ).
const fionread = unix.TIOCINQ
