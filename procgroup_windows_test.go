package acpterm

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// The system's refusal to start a program is about the program. An error in another step of the start is not.
func TestStartErrorOnWindows(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	c := Command{Path: path, Args: []string{"program"}, Dir: t.TempDir(), Env: os.Environ()}
	for _, refusal := range []error{
		windows.ERROR_ACCESS_DENIED, windows.ERROR_BAD_EXE_FORMAT, windows.ERROR_ELEVATION_REQUIRED,
	} {
		require.ErrorIs(t, startError(c, refusal), ErrNotExecutable, "%v", refusal)
		require.ErrorIs(t, startError(c, fmt.Errorf("making a job: %w", refusal)), ErrInternal, "%v", refusal)
	}
	require.ErrorIs(t, startError(c, windows.ERROR_NOT_ENOUGH_MEMORY), ErrInternal)
}
