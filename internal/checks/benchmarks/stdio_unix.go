//go:build unix

package main

// Standard input and output of a client process. Go's poller watches them, like the pipes to an agent in a real client.

import (
	"os"
	"syscall"
)

func pollableStdio() (stdin, stdout *os.File) {
	syscall.SetNonblock(0, true)
	syscall.SetNonblock(1, true)
	return os.NewFile(0, "stdin"), os.NewFile(1, "stdout")
}
