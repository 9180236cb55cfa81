//go:build unix && !linux

package capture

// fionread is the ioctl that returns the number of unread bytes in a pipe: _IOR('f', 127, int), the same on macOS and
// the BSDs.
const fionread = 0x4004667f
