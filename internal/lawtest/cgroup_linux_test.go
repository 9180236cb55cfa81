package lawtest

// Limits that cgroup controllers enforce. Most containers have no controllers to delegate; .ci/vm has all.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
		return errors.Is(err, fs.ErrNotExist) || strings.Contains(string(events), "populated 0")
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
	fmt.Println(filepath.Glob(filepath.Join(args[0], "term_*")))
}

// putInto makes a host start in a new cgroup below parent, and returns the cgroup.
func putInto(t *testing.T, parent string, host *exec.Cmd) (own string) {
	own = filepath.Join(parent, "host")
	require.NoError(t, os.Mkdir(own, 0o755))
	cgroup := hosttest.Must(os.Open(own))
	t.Cleanup(func() { require.NoError(t, errors.Join(cgroup.Close(), os.Remove(own))) })
	host.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(cgroup.Fd())}
	return own
}

// A user to whom a cgroup is delegated, as by systemd's Delegate=yes, limits commands without being root.
func TestADelegatedCgroup(t *testing.T) {
	parent := cgroupWith(t, "memory", "pids")
	program := copyProgram(t, 0o755)
	host := exec.Command(program, hosttest.ChildMark, "host-of-a-delegated-cgroup", parent)
	host.Dir = filepath.Dir(program)
	own, user := putInto(t, parent, host), 1_000_000+os.Getpid()
	for _, path := range []string{parent, own, filepath.Join(parent, "cgroup.procs"), filepath.Join(own, "cgroup.procs")} {
		require.NoError(t, os.Chown(path, user, user))
	}
	host.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
	require.Equal(t, "signal SIGKILL [{Memory 67108864 cgroup true} {Processes 20 cgroup true}]\n<nil>\n[] <nil>\n",
		outputOf(t, host))
}

// hostOfASmallCgroup is the child whose command has its cgroup, with little room.
func hostOfASmallCgroup([]string) {
	m := hosttest.Must(acpterm.NewManager(nil))
	term := runHosted(m, shellRequest(outOfMemory), acpterm.Limits{})
	fmt.Println(term.ExitStatus(), term.EndedBy(), term.Kill(context.Background()))
	fmt.Println(runHosted(m, shellRequest("true"), acpterm.Limits{}).ExitStatus(), m.Close())
}

// The kernel's OOM killer ends the command and not the host.
func TestAHostInASmallCgroup(t *testing.T) {
	parent := cgroupWith(t, "memory")
	host := exec.Command(hosttest.Executable(), hosttest.ChildMark, "host-of-a-small-cgroup")
	require.NoError(t, os.WriteFile(filepath.Join(putInto(t, parent, host), "memory.max"), []byte("256M"), 0))
	require.Equal(t, "signal SIGKILL finished <nil>\nexit code 0 <nil>\n", outputOf(t, host))
}
