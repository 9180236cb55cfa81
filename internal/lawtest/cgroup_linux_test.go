package lawtest

// Limits that cgroup controllers enforce. Most containers have no controllers to delegate; .ci/vm has all.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/linuxtest"
)

// cgroupWith returns a cgroup whose children have controllers, or skips the test.
func cgroupWith(t *testing.T, controllers ...string) string {
	t.Helper()
	dir := linuxtest.CgroupDir(t)
	for _, controller := range controllers {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			t.Skipf("there is no controller %s to delegate: %v", controller, err)
		}
	}
	return dir
}

// outOfMemory allocates memory without an end, beside a process that does not.
const outOfMemory = `sleep 300 & echo ready; exec tail /dev/zero`

// The limit ends the whole tree of the command that exceeds it, and no other command.
func TestMemoryLimitOfACgroup(t *testing.T) {
	parent := cgroupWith(t, "memory")
	m := hosttest.NewManager(t, &acpterm.Options{Cgroup: parent})
	other := hosttest.Create(t, m, hosttest.ChildRequest("sleep"), nil)
	term := hosttest.Create(t, m, shellRequest(outOfMemory), &acpterm.CommandOptions{
		Limits: &acpterm.Limits{Memory: 64 << 20},
	})
	require.Equal(t, []acpterm.EnforcedLimit{{Name: "Memory", Value: 64 << 20, By: "cgroup", Tree: true}}, term.Info().Limits)
	status, err := term.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "signal SIGKILL", status.String())
	require.Eventually(t, func() bool {
		events, err := os.ReadFile(filepath.Join(parent, string(term.ID()), "cgroup.events"))
		return err == nil && strings.Contains(string(events), "populated 0")
	}, time.Minute, time.Millisecond, "the sleep ends with the command")
	require.Equal(t, acpterm.StateRunning, other.State())
	require.NoError(t, term.Kill(t.Context()))
}

// hostOfADelegatedCgroup is the child that runs commands in cgroups below a directory that its user may write: DIR.
func hostOfADelegatedCgroup(args []string) {
	m := hosttest.Must(acpterm.NewManager(&acpterm.Options{Cgroup: args[0]}))
	term := runHosted(m, shellRequest(outOfMemory), acpterm.Limits{Memory: 64 << 20, Processes: 20})
	fmt.Println(term.ExitStatus(), term.Info().Limits)
	fmt.Println(m.Close())
	left, err := filepath.Glob(filepath.Join(args[0], "term_*"))
	fmt.Println(left, err)
}

// A user to whom a cgroup is delegated, as by systemd's Delegate=yes, limits commands without being root.
func TestADelegatedCgroup(t *testing.T) {
	parent := cgroupWith(t, "memory", "pids")
	own := filepath.Join(parent, "host")
	require.NoError(t, os.Mkdir(own, 0o755))
	t.Cleanup(func() { require.NoError(t, os.Remove(own)) })
	program := copyProgram(t, 0o755)
	user := 1_000_000 + os.Getpid()
	for _, path := range []string{parent, own, filepath.Join(parent, "cgroup.procs"), filepath.Join(own, "cgroup.procs")} {
		require.NoError(t, os.Chown(path, user, user))
	}
	cgroup, err := os.Open(own)
	require.NoError(t, err)
	defer cgroup.Close()
	host := exec.Command(program, hosttest.ChildMark, "host-of-a-delegated-cgroup", parent)
	host.Dir, host.Stderr = filepath.Dir(program), os.Stderr
	host.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: uint32(user), Gid: uint32(user)},
		UseCgroupFD: true, CgroupFD: int(cgroup.Fd()),
	}
	said, err := host.Output()
	require.NoError(t, err, "%s", said)
	require.Equal(t, "signal SIGKILL [{Memory 67108864 cgroup true} {Processes 20 cgroup true}]\n<nil>\n[] <nil>\n", string(said))
}
