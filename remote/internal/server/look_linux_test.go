package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/remote/internal/frame"
	"github.com/stretchr/testify/require"
)

// A program behind a link in /proc is rejected: a shell that looks it up again would find another program.
func TestLookThroughProc(t *testing.T) {
	t.Parallel()
	c := serve(t)
	dir := hosttest.RealTempDir(t)
	require.NoError(t, os.Symlink("/proc/self/cwd", dir+"/cwd"))
	require.NoError(t, os.Symlink("cwd", dir+"/again"))
	require.NoError(t, os.Symlink("/bin", dir+"/bin"))
	here, err := os.Getwd() // the helper's working directory
	require.NoError(t, err)
	up, err := filepath.Rel(here, "/bin/ls")
	require.NoError(t, err)
	for name, refused := range map[string]bool{
		"/proc/self/cwd/" + up: true, "cwd/" + up: true, "./again/" + up: true, "/proc/thread-self/root/bin/ls": true,
		"/proc/../bin/ls": false, "bin/ls": false,
	} {
		reply := c.ask(frame.Request{Look: command(dir, "", name)})
		if !refused {
			require.Nil(t, reply.Error, name)
			continue
		}
		require.NotNil(t, reply.Error, name)
		require.Equal(t, "not_executable", reply.Error.Kind, name)
		require.Contains(t, reply.Error.Reason, "/proc")
	}
	reply := c.ask(frame.Request{Look: command(dir, dir+"/cwd/"+filepath.Dir(up), "ls")})
	require.NotNil(t, reply.Error, "in PATH")
	require.Equal(t, "not_executable", reply.Error.Kind)
}
