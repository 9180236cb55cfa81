package audit_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/audit"
	"github.com/acpterm/acpterm/internal/racetest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

func TestOpen(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(dir, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	for _, test := range []struct{ path, want string }{
		{filepath.Join(dir, "missing", "file"), "missing"},
		{root, ""},
		{filepath.Join(root, "file"), "where commands may write"},
		{filepath.Join(root, "sub", "file"), "where commands may write"},
	} {
		log, err := audit.Open(test.path, dir+"/root/sub", root)
		require.Nil(t, log)
		require.ErrorIs(t, err, acpterm.ErrInternal)
		require.ErrorContains(t, err, test.want)
		if test.path != root {
			require.NoFileExists(t, test.path)
		}
	}
	_, err = audit.Open(filepath.Join(dir, "file"), filepath.Join(dir, "no-root"))
	require.ErrorContains(t, err, "no-root")

	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte(`{"msg":"earlier"}`+"\n"), 0o600))
	for range 2 {
		log, err := audit.Open(path, root)
		require.NoError(t, err)
		require.NoError(t, log.Record(t.Context(), allowed))
		require.NoError(t, log.Close())
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var messages []string
	for _, line := range lines(t, data) {
		messages = append(messages, line.Msg)
	}
	require.Equal(t, []string{"earlier", "decision", "decision"}, messages)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
}
