package hosttest

// A file that is not a program.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// NotAProgram is a file with a program's name.
func NotAProgram(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "text.exe")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	return path
}
