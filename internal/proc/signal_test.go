package proc

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Signals have their POSIX names.
func TestSignalNames(t *testing.T) {
	for sig, name := range map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGABRT: "SIGABRT",
		syscall.SIGKILL: "SIGKILL", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", 42: "SIG42",
	} {
		require.Equal(t, name, SignalName(sig))
	}
}
