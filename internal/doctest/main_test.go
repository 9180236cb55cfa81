package doctest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// root is the directory of the repository.
var root, rootErr = filepath.Abs("../..")

// atRoot begins each test: names of files are relative to the root of the repository. In TestMain this would be too
// early: go test would not see which files the tests read, and would reuse their results after a change of the files.
func atRoot(t *testing.T) {
	t.Helper()
	require.NoError(t, rootErr)
	require.NoError(t, os.Chdir(root))
}
