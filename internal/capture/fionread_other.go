//go:build unix && !linux

package capture

// fionread asks how many bytes lie in a pipe: _IOR('f', 127, int), the same on macOS and the BSDs.
const fionread = 0x4004667f
