package proc

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// SignalName and SignalNumber are inverses, and SignalNumber rejects all other names.
func TestSignalNames(t *testing.T) {
	for sig, name := range map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGABRT: "SIGABRT",
		syscall.SIGKILL: "SIGKILL", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", 42: "SIG42",
	} {
		require.Equal(t, name, SignalName(sig))
	}
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		got, ok := SignalNumber(SignalName(sig))
		require.True(t, ok, SignalName(sig))
		require.Equal(t, sig, got)
	}
	for _, name := range []string{
		"", "SIG", "TERM", "sigterm", "SIGTERMS", "SIG0", "SIG9", "SIG-1", "SIG+42", "SIG042", "SIG 42", "SIG129", "42",
		"SIG99999999999999999999",
	} {
		_, ok := SignalNumber(name)
		require.False(t, ok, "%q", name)
	}
}
