//go:build freebsd || dragonfly || netbsd

package acpterm

import "golang.org/x/sys/unix"

// rlimitAS is the limit on a process's address space.
const rlimitAS = unix.RLIMIT_AS
