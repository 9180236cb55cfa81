//go:build unix && (!linux || android || !(amd64 || arm64))

package acpterm

import "syscall"

// ownFork is Linux's (fork_linux.go).
type ownFork struct{}

func (*ownFork) fork(string, []string, *syscall.ProcAttr, forkCalls) (done bool, err error) {
	return false, nil
}
