package lawtest

// Processes of other users, in a tree and elsewhere: what observers see of them, and what they do not.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
)

// listener is what hosttest.Listen prints.
type listener struct{ pid, port int }

// listeners waits for the lines of so many processes.
func listeners(t *testing.T, term *acpterm.Terminal, count int) (all []listener) {
	t.Helper()
	out := ""
	for chunk := range term.Follow(t.Context(), 0) {
		if out += chunk.Text; strings.Count(out, "\n") == count {
			break
		}
	}
	for line := range strings.Lines(out) {
		var l listener
		_, err := fmt.Sscan(line, &l.pid, &l.port)
		require.NoError(t, err, out)
		all = append(all, l)
	}
	require.Len(t, all, count)
	return all
}

// The port of another user's process is not shown, whether the process is in the tree or not, also to root.
func TestPortsOfOtherUsers(t *testing.T) {
	hosttest.NeedOtherUser(t)
	m := hosttest.NewManager(t, nil)
	elsewhere := hosttest.Create(t, m, shellRequest("AS='"+hosttest.AsOther+"'; "+hosttest.Listen+" & AS=; "+hosttest.Listen))
	others := listeners(t, elsewhere, 2)
	term := hosttest.Create(t, m, shellRequest("AS='"+hosttest.AsOther+"'; "+hosttest.Listen+" & AS=; "+hosttest.Listen))
	mine := listeners(t, term, 2)
	list, err := term.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 3)
	users := make(map[uint32]int) // their processes that listen
	for _, p := range list {
		for _, other := range others {
			require.NotEqual(t, other.pid, p.PID)
		}
		at := slices.IndexFunc(mine, func(l listener) bool { return l.pid == p.PID })
		if at < 0 {
			require.Equal(t, term.Info().PID, p.PID)
			continue
		}
		info, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID))
		require.NoError(t, err)
		switch user := info.Sys().(*syscall.Stat_t).Uid; user {
		case hosttest.OtherUser:
			users[user]++
			require.Empty(t, p.Listening)
			require.Contains(t, p.Command, "perl")
		default:
			users[user]++
			require.Len(t, p.Listening, 1)
			require.EqualValues(t, mine[at].port, p.Listening[0].Port())
		}
	}
	require.Equal(t, map[uint32]int{0: 1, hosttest.OtherUser: 1}, users)
	for activity, err := range term.Watch(t.Context()) {
		require.NoError(t, err)
		require.Len(t, activity.Listening, 1)
		break
	}
}

// hostWithAnothersProcess is the child whose commands run PERL, a perl that runs as another user. It prints what it sees.
func hostWithAnothersProcess(args []string) {
	m := hosttest.Must(acpterm.NewManager(nil))
	for _, options := range []*acpterm.CommandOptions{nil, {Stdin: &acpterm.StdinOptions{}}} {
		term := hosttest.Must(m.Create(context.Background(), shellRequest("PERL="+args[0]+"; "+hosttest.Listen), options))
		for chunk := range term.Follow(context.Background(), 0) {
			if strings.HasSuffix(chunk.Text, "\n") {
				break
			}
		}
		list, err := term.Processes(context.Background())
		for _, p := range list {
			fmt.Println(filepath.Base(strings.Fields(p.Command)[0]), p.Memory > 0, p.Listening)
		}
		fmt.Println(errors.Is(err, fs.ErrPermission), options != nil && strings.Contains(fmt.Sprint(err), "waits for input"))
		for activity, err := range term.Watch(context.Background()) {
			if activity.State != "" || err != nil {
				fmt.Printf("%q %v %v\n", activity.State, activity.Listening, errors.Is(err, fs.ErrPermission))
				break
			}
		}
		fmt.Println(term.Kill(context.Background()))
	}
	fmt.Println(m.Close())
}

// A host sees that another user's process runs in the tree, and not on which ports it listens. That it does not know
// whether the process waits for input is an error, and the state is not "idle" then.
func TestAHostSeesLittleOfAnothersProcess(t *testing.T) {
	hosttest.NeedOtherUser(t)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	perl := filepath.Join(dir, "perl")
	program, err := os.ReadFile(hosttest.Must(exec.LookPath("perl")))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(perl, program, 0o755))
	require.NoError(t, os.Chown(perl, hosttest.OtherUser, -1))
	require.NoError(t, os.Chmod(perl, 0o755|os.ModeSetuid))
	seen := "sh true []\nperl true []\n"
	require.Equal(t, seen+"false false\n\"idle\" [] false\n<nil>\n"+seen+"true true\n\"\" [] true\n<nil>\n<nil>\n",
		runHost(t, "host-with-anothers-process", perl))
}
