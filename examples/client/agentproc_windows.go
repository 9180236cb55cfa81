package main

// Windows: there is no signal that an agent would hear, and no group to end without a job object; the agent
// itself is ended, with whatever signal.

import (
	"os"
	"syscall"
)

// ownGroup keeps an interrupt at the keyboard from the agent.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func signalGroup(leader *os.Process, _ syscall.Signal) { leader.Kill() }
