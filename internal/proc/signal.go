package proc

// The names of signals.

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

// IsSignalName reports whether a text may be the name of a signal on some system, such as "SIGTERM" or "SIGRTMIN+3".
func IsSignalName(text string) bool {
	const most = 32 // bytes
	other := strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-_")
	return text != "" && len(text) <= most && other == ""
}
