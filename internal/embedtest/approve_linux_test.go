package embedtest

// Programs whose contents change while the user is asked about them, in ways that their inode, size and times do not
// show.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/internal/hosttest"
	"github.com/acpterm/acpterm/internal/pin"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// mapping maps a file, and returns a function that changes it in place from "good" to "evil" and unmaps it. It writes
// to the page first, so that the change does not set the file's times.
func mapping(t *testing.T, path string) (change func()) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	text, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	text[0] = '#'
	return func() {
		copy(text[strings.Index(string(text), "good"):], "evil")
		require.NoError(t, unix.Munmap(text))
	}
}

// writeScript writes a program at least a page long.
func writeScript(t *testing.T, path, text string) {
	require.NoError(t, os.WriteFile(path, []byte(text+strings.Repeat("#", 4096)), 0o700))
}

func TestAProgramChangedDuringTheQuestionDoesNotRun(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, dir string) (change func()){
		"through a mapping": func(t *testing.T, dir string) func() { return mapping(t, filepath.Join(dir, "program")) },
		"its interpreter, through a mapping": func(t *testing.T, dir string) func() {
			writeScript(t, filepath.Join(dir, "program"), "#! "+filepath.Join(dir, "interpreter")+" -x\n")
			writeScript(t, filepath.Join(dir, "interpreter"), "#!/bin/sh\necho good\n")
			return mapping(t, filepath.Join(dir, "interpreter"))
		},
		"its interpreter, by another file": func(t *testing.T, dir string) func() {
			writeScript(t, filepath.Join(dir, "program"), "#!interpreter\n")
			writeScript(t, filepath.Join(dir, "interpreter"), "#!/bin/sh\necho good\n")
			writeScript(t, filepath.Join(dir, "other"), "#!/bin/sh\necho evil\n")
			return func() {
				require.NoError(t, os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "interpreter")))
			}
		},
		"its interpreter, by a link": func(t *testing.T, dir string) func() {
			writeScript(t, filepath.Join(dir, "program"), "#!"+filepath.Join(dir, "link")+"\n")
			writeScript(t, filepath.Join(dir, "interpreter"), "#!/bin/sh\necho good\n")
			writeScript(t, filepath.Join(dir, "other"), "#!/bin/sh\necho evil\n")
			require.NoError(t, os.Symlink("interpreter", filepath.Join(dir, "link")))
			return func() {
				require.NoError(t, os.Remove(filepath.Join(dir, "link")))
				require.NoError(t, os.Symlink("other", filepath.Join(dir, "link")))
			}
		},
		"its interpreter, which was not there": func(t *testing.T, dir string) func() {
			writeScript(t, filepath.Join(dir, "program"), "#!"+filepath.Join(dir, "interpreter")+"\n")
			return func() { writeScript(t, filepath.Join(dir, "interpreter"), "#!/bin/sh\necho evil\n") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := hosttest.RealTempDir(t)
			program := filepath.Join(dir, "program")
			writeScript(t, program, "#!/bin/sh\necho good\n")
			change := attack(t, dir)
			before, err := os.Stat(program)
			require.NoError(t, err)
			attacked := false
			m, events := asking(t, func(_ context.Context, q acpterm.Question) acpterm.Answer {
				require.Empty(t, q.Unverified)
				if attacked = !attacked; attacked {
					change()
				}
				return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
			})
			req := acpterm.CreateTerminalRequest{SessionID: "s", Command: program, Cwd: dir}
			term, err := m.Create(t.Context(), req, nil)
			if err == nil {
				term.Wait(t.Context())
				t.Logf("it printed %q", term.Output().Output)
			}
			require.ErrorIs(t, err, acpterm.ErrDenied)
			require.ErrorContains(t, err, "after the decision")
			require.ErrorIs(t, hosttest.Ended(t, events).Err, acpterm.ErrDenied)
			after, err := os.Stat(program)
			require.NoError(t, err)
			t.Logf("the program's time of modification shows a change: %v", !after.ModTime().Equal(before.ModTime()))

			// After another question the changed program may run.
			require.Equal(t, "evil\n", hosttest.Run(t, m, req).Output)
		})
	}
}

// A question names a program's files that exceed the size limit for comparison.
func TestAQuestionNamesFilesThatAreNotCompared(t *testing.T) {
	dir := hosttest.RealTempDir(t)
	program, large := filepath.Join(dir, "program"), filepath.Join(dir, "large")
	writeScript(t, program, "#!"+large+"\n")
	writeScript(t, large, "#!/bin/sh\nexit 0\n")
	var asked acpterm.Question
	m, _ := asking(t, func(_ context.Context, q acpterm.Question) acpterm.Answer {
		asked = q
		return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
	})
	for size, want := range map[int64][]string{1 << 20: nil, pin.MaxVerifiedSize + 1: {large}} {
		require.NoError(t, os.Truncate(large, size)) // a hole
		term := hosttest.Create(t, m, hosttest.CommandRequest(program))
		require.Equal(t, want, asked.Unverified)
		hosttest.AwaitExit(t, term)
	}
}

// A program too large to be compared is checked like all others.
func TestALargeProgramThatIsReplacedDoesNotRun(t *testing.T) {
	dir := hosttest.RealTempDir(t)
	program := filepath.Join(dir, "program")
	writeScript(t, program, "#!/bin/sh\nexit 0\n")
	require.NoError(t, os.Truncate(program, pin.MaxVerifiedSize+1))
	m, _ := asking(t, func(_ context.Context, q acpterm.Question) acpterm.Answer {
		require.Equal(t, []string{program}, q.Unverified)
		require.NoError(t, os.Rename(program, program+".was"))
		writeScript(t, program, "#!/bin/sh\nexit 1\n")
		return acpterm.Answer{Approval: acpterm.ApprovalAllowOnce}
	})
	_, err := m.Create(t.Context(), hosttest.CommandRequest(program), nil)
	require.ErrorIs(t, err, acpterm.ErrDenied)
}
