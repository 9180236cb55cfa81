package proc

// This file maps signals to their names.

import (
	"strconv"
	"syscall"
)

// SignalName returns the POSIX name of a signal. If this system has no name for it, such as for a real-time signal, the
// name is made of its number: "SIG34".
func SignalName(sig syscall.Signal) string {
	if name := nameOf(sig); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(int(sig))
}
