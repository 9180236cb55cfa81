//go:build !linux

package capture

import "time"

// fionread is the ioctl that returns the number of unread bytes in a pipe on Unix: _IOR('f', 127, int).
const fionread = 0x4004667f

// readBatched pauses, so that more output arrives before the next read.
func (*Reader) readBatched() { time.Sleep(pauseTime) }
