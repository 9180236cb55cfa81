//go:build darwin || openbsd

package acpterm

// rlimitAS is the limit on a process's address space, which there is none of here.
const rlimitAS = -1
