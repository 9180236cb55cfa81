package remote

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// built is the directory of the helper for this system, which is built once.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func removeHelper() {
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
}

// Build reports what failed.
func TestBuildFails(t *testing.T) {
	require.ErrorContains(t, Build(t.Context(), "", os.TempDir(), "linux", "68020"), "linux/68020")
	require.Error(t, Build(t.Context(), "", os.TempDir(), "", ""))
}
