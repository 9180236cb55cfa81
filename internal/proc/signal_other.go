//go:build !unix

package proc

import "syscall"

// names are those of the signals with numbers from 1 on, as package syscall has them on Windows, which knows no signals
// itself: they stand for what other systems have.
func names() []string {
	return []string{
		"SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "", "SIGSEGV",
		"", "SIGPIPE", "SIGALRM", "SIGTERM",
	}
}

// nameOf is a signal's name; empty if it has none.
func nameOf(sig syscall.Signal) string {
	if n, names := int(sig), names(); 0 < n && n <= len(names) {
		return names[n-1]
	}
	return ""
}

// numberOf is the signal with a name; 0 if there is none.
func numberOf(name string) syscall.Signal {
	for i, other := range names() {
		if other == name && name != "" {
			return syscall.Signal(i + 1)
		}
	}
	return 0
}
