//go:build unix && !linux

package capture

// fionread is the ioctl that returns the number of unread bytes in a pipe: _IOR('f', 127, int).
const fionread = 0x4004667f
