//go:build freebsd || netbsd || openbsd || dragonfly

package acpterm

// noteExitStatus makes kqueue's exit event carry the wait status; the BSDs do so unasked.
const noteExitStatus = 0
