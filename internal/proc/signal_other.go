//go:build !unix

package proc

import "syscall"

// nameOf returns a signal's name, or an empty string. Windows has no signals; the names are other systems'.
func nameOf(sig syscall.Signal) string {
	return map[syscall.Signal]string{
		1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
		9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
	}[sig]
}
