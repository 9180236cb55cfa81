package proc

// These tests run trees on a PTY.

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/acpterm/acpterm/internal/leaktest"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// onPTY makes a command run on a PTY.
func onPTY(spec Spec) Spec {
	spec.PTY = &Size{Columns: 80, Rows: 24}
	return spec
}

func TestPTYIsTheCommandsTerminal(t *testing.T) {
	s := newSupervisor(t)
	tree := start(t, s, onPTY(line("stty size; tty; ps -o tty= -p $$; read x; echo got $x")))
	require.Equal(t, "24 80", tree.word())
	terminal := tree.word()
	require.Equal(t, strings.TrimPrefix(terminal, "/dev/"), tree.word(), "it is the controlling terminal")
	require.NoError(t, tree.Resize(Size{Columns: 100, Rows: 30}))
	_, err := tree.Write([]byte("text\n"))
	require.NoError(t, err)
	require.Equal(t, "text", tree.word())
	require.Equal(t, "got text", tree.word())
	<-tree.ended
	_, err = tree.Write([]byte("late"))
	require.ErrorIs(t, err, os.ErrClosed)
	tree.close()
	require.ErrorIs(t, tree.Resize(Size{Columns: 1, Rows: 1}), os.ErrClosed)
}

func TestWithoutAPTY(t *testing.T) {
	s := newSupervisor(t)
	tree := start(t, s, line("true"))
	defer tree.close()
	_, err := tree.Write(nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, tree.Resize(Size{Columns: 1, Rows: 1}), errors.ErrUnsupported)
	<-tree.ended
}

// A process outside the session with the terminal open belongs to the tree if it carries the mark, but not if it only
// inherited the terminal or opened it by name.
func TestHoldersOfTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		env    string
		keeps  bool
		member bool
	}{
		"with the mark":                     {"", false, true},
		"with the mark, not to be detached": {"", true, true},
		"without the mark":                  {"env -i", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSupervisor(t)
			file := filepath.Join(t.TempDir(), "pid")
			spec := onPTY(line("trap '' HUP; setsid -f " + c.env + " sh -c 'echo $$ >" + file + ".new; mv " + file + ".new " +
				file + "; exec sleep 300'; until test -e " + file + "; do sleep 0.01; done; cat " + file))
			spec.KeepDetached = c.keeps
			tree := start(t, s, spec)
			pid := tree.number()
			<-tree.ended
			require.Equal(t, !c.member, tree.Gone())
			tree.end()
			require.Equal(t, !c.member, runs(pid))
			if !c.member {
				require.NoError(t, unix.Kill(pid, unix.SIGKILL)) // started by this test
				require.Eventually(t, func() bool { return !runs(pid) }, time.Minute, time.Millisecond)
			}
		})
	}
}

// A PTY that cannot be opened leaves no open descriptor.
func TestOpenPTYErrorsLeaveNothing(t *testing.T) {
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would close lost files
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	before := leaktest.Descriptors()
	for room := range 3 { // available descriptors
		next, err := unix.Dup(0)
		require.NoError(t, err)
		unix.Close(next)
		few := limit
		few.Cur = uint64(next + room)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
		_, _, err = openPTY(Size{Columns: 80, Rows: 24})
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
		require.ErrorIs(t, err, unix.EMFILE)
		require.Equal(t, before, leaktest.Descriptors(), "room for %d", room)
	}
}
