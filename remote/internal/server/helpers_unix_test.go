//go:build unix

package server_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	waitLimit      = time.Minute
	pollPause      = time.Millisecond
	enforcesLimits = runtime.GOOS == "linux"
)

// fifo returns the path of a named pipe. A command that reads it waits until release is called.
func fifo(t *testing.T) (path string, release func()) {
	path = t.TempDir() + "/fifo"
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path, func() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
}
