package server

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/proc"
)

// signalNumber is the inverse of proc.SignalName, and rejects all other names.
func TestSignalNumbers(t *testing.T) {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		got, ok := signalNumber(proc.SignalName(sig))
		require.True(t, ok, proc.SignalName(sig))
		require.Equal(t, sig, got)
	}
	for _, name := range []string{
		"", "SIG", "TERM", "sigterm", "SIGTERMS", "SIG0", "SIG9", "SIG-1", "SIG+42", "SIG042", "SIG 42", "SIG129", "42",
		"SIG99999999999999999999",
	} {
		_, ok := signalNumber(name)
		require.False(t, ok, "%q", name)
	}
}
