package proc

// Signals and their names.

import (
	"strconv"
	"strings"
	"syscall"
)

// SignalName is the POSIX name of a signal, or one made of its number if this system has no name for it, such as for a
// real-time signal: "SIG34".
func SignalName(sig syscall.Signal) string {
	if name := nameOf(sig); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(int(sig))
}

// SignalNumber is the signal of this system with a name that SignalName returns. It reports false if there is none.
func SignalNumber(name string) (syscall.Signal, bool) {
	if sig := numberOf(name); sig > 0 {
		return sig, true
	}
	const highest = 128 // of any system
	digits, _ := strings.CutPrefix(name, "SIG")
	n, err := strconv.Atoi(digits)
	sig := syscall.Signal(n)
	return sig, err == nil && 0 < n && n <= highest && SignalName(sig) == name
}
