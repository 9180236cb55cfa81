package hosttest

// A file that only looks like a program.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// NotAProgram returns a text file with a program's name.
func NotAProgram(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "text.exe")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	return path
}
