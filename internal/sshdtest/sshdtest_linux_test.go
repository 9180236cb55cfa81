package sshdtest_test

import (
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/sshdtest"
)

func TestMain(m *testing.M) { racetest.Main(m) }

// Both users log in with OpenSSH's client, and find an empty home directory of the test. Start-up files of the user who
// runs the tests could print something or be slow.
func TestLogin(t *testing.T) {
	s := sshdtest.Start(t)
	for _, user := range []string{s.User, s.OtherUser} {
		if user == "" {
			continue // not root
		}
		line := append(s.CommandLine(user), "id -un; cd && test -w . && ls -A && dirname $PWD")
		out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
		require.NoError(t, err, "%s\n%s", out, s.Log())
		require.Equal(t, user+"\n"+s.Dir+"\n", string(out))
	}
}

// A killed connection ends the client; the next connection works.
func TestKillConnections(t *testing.T) {
	s := sshdtest.Start(t)
	for _, user := range []string{s.User, s.OtherUser, s.User} {
		if user == "" {
			continue
		}
		line := append(s.CommandLine(user), "echo ready; exec cat")
		cmd := exec.Command(line[0], line[1:]...)
		_, err := cmd.StdinPipe() // Wait closes it
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.ReadFull(stdout, make([]byte, len("ready\n")))
		require.NoError(t, err, s.Log())
		s.KillConnections()
		require.Error(t, cmd.Wait())
	}
}
