package proc

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const siblingMark = "proc-test-sibling"

// startSibling starts a process in its own session whose parent is this process's parent (CLONE_PARENT in man 2 clone),
// and prints its ID.
func startSibling() {
	sibling, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "300"}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_PARENT},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(sibling)
	time.Sleep(5 * time.Minute)
}

// A process that a command makes this process's child belongs to the tree, even after the command has ended.
func TestAChildOfTheHostThatACommandMade(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	spec := line("")
	spec.Path, spec.Args = self, []string{self, siblingMark}
	s := newSupervisor(t)
	for _, leaderRuns := range []bool{true, false} {
		tree := start(t, s, spec)
		sibling := tree.number()
		if !leaderRuns {
			require.NoError(t, unix.Kill(tree.PID(), unix.SIGKILL))
			<-tree.known.Done()
			require.False(t, tree.Gone())
		}
		tree.endWith(context.Background(), syscall.SIGKILL)
		require.NoError(t, unix.Waitid(unix.P_PID, sibling, nil, unix.WEXITED, nil))
		tree.close()
	}
}
