//go:build unix

package main

// The Unixes: an agent leads a process group, and all of it is signalled.

import (
	"os"
	"syscall"
)

// ownGroup makes the group, and a session with it: an agent that asks for a password at the person's terminal
// would be stopped, in the background as it is, and wait for ever.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func signalGroup(leader *os.Process, sig syscall.Signal) { syscall.Kill(-leader.Pid, sig) }
