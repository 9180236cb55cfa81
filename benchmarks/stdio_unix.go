//go:build unix

package main

// Standard input and output as a client has its agent's: files that Go's poller watches.

import (
	"os"
	"syscall"
)

func pollableStdio() (stdin, stdout *os.File) {
	syscall.SetNonblock(0, true)
	syscall.SetNonblock(1, true)
	return os.NewFile(0, "stdin"), os.NewFile(1, "stdout")
}
