package proc

// This file maps signals to their names.

import (
	"strconv"
	"strings"
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

// SignalNumber returns this system's signal with a name returned by SignalName, and false if it does not exist.
func SignalNumber(name string) (syscall.Signal, bool) {
	if sig := numberOf(name); sig > 0 {
		return sig, true
	}
	const highest = 128 // on any system
	digits, _ := strings.CutPrefix(name, "SIG")
	n, err := strconv.Atoi(digits)
	sig := syscall.Signal(n)
	return sig, err == nil && 0 < n && n <= highest && SignalName(sig) == name
}
