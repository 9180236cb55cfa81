//go:build !unix

package proc

import "syscall"

// names returns the names of the signals, from number 1 on. They are those of package syscall on Windows. Windows
// itself has no signals; the names represent the signals of other systems.
func names() []string {
	return []string{
		"SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "", "SIGSEGV",
		"", "SIGPIPE", "SIGALRM", "SIGTERM",
	}
}

// nameOf returns a signal's name, or an empty string.
func nameOf(sig syscall.Signal) string {
	if n, names := int(sig), names(); 0 < n && n <= len(names) {
		return names[n-1]
	}
	return ""
}
