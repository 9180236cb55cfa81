//go:build unix

package policy_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/policy"
)

func TestResolveLinks(t *testing.T) {
	dir := hosttest.RealTempDir(t)
	require.NoError(t, os.MkdirAll(dir+"/real/sub", 0o700))
	require.NoError(t, os.Symlink("real/sub", dir+"/link"))
	require.NoError(t, os.Symlink("loop", dir+"/loop"))
	for path, want := range map[string]string{
		"/link/new":     "/real/sub/new",
		"/link/../new":  "/real/new", // the parent of what the link leads to
		"/link/./../":   "/real",
		"/real/new":     "/real/new",
		"/real/new/new": "",
		"/loop":         "",
	} {
		resolved, err := policy.ResolveLinks(dir + path)
		if want == "" {
			require.Error(t, err, path)
			continue
		}
		require.NoError(t, err, path)
		require.Equal(t, dir+want, resolved, path)
	}
}
