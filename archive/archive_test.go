package archive_test

// What an archive keeps of terminals, for how long, and what it makes of damaged files.

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/archive"
)

// keep runs commands in a manager whose terminals are archived.
func keep(t *testing.T, dir string, o *archive.Options, commands acptermtest.Commands, run func(*acpterm.Manager)) {
	t.Helper()
	a, err := archive.Open(dir, o)
	require.NoError(t, err)
	m, err := acpterm.NewManager(&acpterm.Options{Runner: commands})
	require.NoError(t, err)
	a.Keep(m, "")
	run(m)
	require.NoError(t, m.Close())
	require.NoError(t, a.Close())
	require.Empty(t, a.Skipped())
}

// end runs a command to its end, and then releases its terminal.
func end(t *testing.T, m *acpterm.Manager, r acpterm.CreateTerminalRequest) {
	t.Helper()
	r.SessionID = "s"
	terminal, err := m.Create(t.Context(), r, nil)
	require.NoError(t, err)
	_, err = terminal.Wait(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.Release(t.Context(), "s", terminal.ID()))
}

// open opens an archive to read it.
func open(t *testing.T, dir string, o *archive.Options) *archive.Archive {
	t.Helper()
	a, err := archive.Open(dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// output returns the output of a terminal from an offset on, and the number of missed bytes.
func output(t *testing.T, terminal *archive.Terminal, offset int64) (raw string, missed int64) {
	t.Helper()
	at := offset
	for chunk := range terminal.Follow(t.Context(), offset) {
		require.GreaterOrEqual(t, chunk.Offset, at)
		at = chunk.End
		raw, missed = raw+chunk.Raw, missed+chunk.Missed
	}
	require.Equal(t, max(offset, terminal.OutputTotal()), at)
	return raw, missed
}

// titles returns the commands of an archive.
func titles(a *archive.Archive) (all []string) {
	for _, terminal := range a.Terminals() {
		all = append(all, terminal.Info().Command.String())
	}
	return all
}

func TestWhatIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	long := strings.Repeat("日本\n", 100_000) + "\xff end"
	commands := acptermtest.Commands{
		"make": acptermtest.Print(long, 2), "silent": acptermtest.Print("", 0), "block": acptermtest.Block,
	}
	secret := []acpterm.EnvVariable{{Name: "TOKEN", Value: "very secret"}}
	began := time.Now()
	keep(t, dir, nil, commands, func(m *acpterm.Manager) {
		end(t, m, acpterm.CreateTerminalRequest{Command: "make", Args: []string{"all"}, Env: secret, OutputByteLimit: new(uint64(1 << 30))})
		end(t, m, acpterm.CreateTerminalRequest{Command: "silent"})
		end(t, m, acpterm.CreateTerminalRequest{Command: "make", OutputByteLimit: new(uint64(10))})
		_, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "other", Command: "block"}, nil)
		require.NoError(t, err)
	})
	a := open(t, dir, nil)
	all := a.Terminals()
	require.Equal(t, []string{"make all", "silent", "make", "block"}, titles(a))
	info := all[0].Info()
	require.Equal(t, "exit code 2", info.ExitStatus.String())
	require.Equal(t, acpterm.EndedByItself, info.EndedBy)
	require.EqualValues(t, "s", info.SessionID)
	require.WithinDuration(t, began, info.Started, time.Since(began))
	require.False(t, info.Ended.Before(info.Started))
	require.True(t, all[0].Earlier())

	raw, missed := output(t, all[0], 0)
	require.True(t, long == raw)
	require.Zero(t, missed)
	text, err := all[0].Text()
	require.NoError(t, err)
	require.True(t, strings.ToValidUTF8(long, "\uFFFD") == text)
	text = ""
	for chunk := range all[0].Follow(t.Context(), 0) {
		text += chunk.Text
	}
	require.True(t, strings.ToValidUTF8(long, "\uFFFD") == text, "characters are not split")
	for _, offset := range []int64{1, 7, 64 << 10, int64(len(long)) - 1, int64(len(long)), int64(len(long)) + 1} {
		raw, _ := output(t, all[0], offset)
		require.True(t, long[min(offset, int64(len(long))):] == raw, "%d: %d bytes", offset, len(raw))
	}
	raw, _ = output(t, all[1], 0)
	require.Empty(t, raw)
	raw, missed = output(t, all[2], 0)
	require.True(t, strings.HasSuffix(long, raw) && len(raw) >= 10) // followers get more than the agent
	require.EqualValues(t, len(long)-len(raw), missed)
	require.EqualValues(t, len(long), all[2].Info().Written)
	require.NotEqual(t, acpterm.EndedByItself, all[3].Info().EndedBy, "the manager was closed")

	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Zero(t, info.Mode().Perm()&0o077, path)
		}
		if !entry.IsDir() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.False(t, bytes.Contains(data, []byte("secret")) || bytes.Contains(data, []byte("TOKEN")))
		}
		return nil
	}))
}

// What a background process has written by the release is kept, too.
func TestOutputAfterTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	goOn := make(chan struct{})
	commands := acptermtest.Commands{"serve": func(p *acptermtest.Process) int {
		fmt.Fprintln(p, "started")
		p.Spawn(func(child *acptermtest.Process) int {
			<-goOn
			fmt.Fprintln(child, "late")
			return 0
		})
		return 0
	}}
	keep(t, dir, nil, commands, func(m *acpterm.Manager) {
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "serve"}, nil)
		require.NoError(t, err)
		_, err = terminal.Wait(t.Context())
		require.NoError(t, err)
		close(goOn)
		for range terminal.Follow(t.Context(), 0) { // to the end of the child
		}
	})
	all := open(t, dir, nil).Terminals()
	require.Len(t, all, 1)
	raw, _ := output(t, all[0], 0)
	require.Equal(t, "started\nlate\n", raw)
}

// Of an attached terminal, the output that its owner has not replaced is kept.
func TestReplacedOutput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	keep(t, dir, nil, nil, func(m *acpterm.Manager) {
		h := acpterm.NewHandler(m, nil)
		about := acpterm.TerminalInfo{ID: "call_1", SessionID: "s", Command: acpterm.Command{ShellLine: "make"}}
		attached, err := h.Attach(about, nil, nil)
		require.NoError(t, err)
		attached.Write([]byte("old"))
		attached.Replace([]byte("new output"))
		attached.Exit(new(int64(1)), nil)
		require.NoError(t, h.Close())
	})
	all := open(t, dir, nil).Terminals()
	require.Len(t, all, 1)
	require.True(t, all[0].Info().Attached)
	require.Equal(t, "make", all[0].Info().Command.String())
	raw, missed := output(t, all[0], 0)
	require.Equal(t, "new output", raw)
	require.Zero(t, missed)
}

func TestLimits(t *testing.T) {
	noise := make([]byte, 30<<10) // does not compress well
	for i, state := 0, uint32(1); i < len(noise); i++ {
		state = state*1664525 + 1013904223
		noise[i] = 'a' + byte(state>>24)%26
	}
	commands := acptermtest.Commands{"*": acptermtest.Print(string(noise), 0)}
	run := func(names ...string) func(*acpterm.Manager) {
		return func(m *acpterm.Manager) {
			for _, name := range names {
				end(t, m, acpterm.CreateTerminalRequest{Command: name})
			}
		}
	}
	dir := filepath.Join(t.TempDir(), "archive")
	keep(t, dir, &archive.Options{MaxBytes: 50 << 10}, commands, run("one", "two", "three"))
	require.Equal(t, []string{"two", "three"}, titles(open(t, dir, nil)))
	keep(t, dir, &archive.Options{MaxTerminals: 3}, commands, run("four", "five"))
	require.Equal(t, []string{"three", "four", "five"}, titles(open(t, dir, nil)))
	require.Equal(t, []string{"five"}, titles(open(t, dir, &archive.Options{MaxTerminals: 1})))
	require.Len(t, files(t, dir), 1)
	require.Empty(t, titles(open(t, dir, &archive.Options{MaxBytes: 10 << 10})), "one that is larger than the quota")

	keep(t, dir, nil, commands, run("six"))
	require.Equal(t, []string{"six"}, titles(open(t, dir, &archive.Options{MaxAge: time.Hour})))
	require.Empty(t, titles(open(t, dir, &archive.Options{MaxAge: time.Nanosecond})))
	require.Empty(t, files(t, dir))
	_, err := archive.Open(dir, &archive.Options{MaxAge: -1})
	require.Error(t, err)
}

// files returns the paths of the files.
func files(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	return paths
}

// A file that was cut off anywhere, or has other bytes, is reported, or what is missing of its output. Others are shown.
func TestDamagedFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	commands := acptermtest.Commands{"*": acptermtest.Print("some output, some output\n", 0)}
	keep(t, dir, nil, commands, func(m *acpterm.Manager) {
		end(t, m, acpterm.CreateTerminalRequest{Command: "damaged"})
		end(t, m, acpterm.CreateTerminalRequest{Command: "whole"})
	})
	path := files(t, dir)[0]
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for size := range data {
		require.NoError(t, os.WriteFile(path, data[:size], 0o600))
		a := open(t, dir, nil)
		require.Equal(t, []string{"whole"}, titles(a), size)
		require.Len(t, a.Skipped(), 1)
		require.ErrorContains(t, a.Skipped()[0], filepath.Base(path))
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 0xff
		require.NoError(t, os.WriteFile(path, changed, 0o600))
		a := open(t, dir, nil)
		for _, terminal := range a.Terminals() {
			if raw, missed := output(t, terminal, 0); missed > 0 {
				require.NotEmpty(t, a.Skipped(), "%d: %q", i, raw)
			}
			_, err := terminal.Text()
			_ = terminal.Info().Command.String()
			require.True(t, err == nil || len(a.Skipped()) > 0)
		}
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))
	base := []byte(filepath.Base(path))
	base[18] ^= 1 // of another time
	other := filepath.Join(dir, string(base))
	require.NoError(t, os.Rename(path, other))
	require.ErrorContains(t, open(t, dir, nil).Skipped()[0], "not the record of this file")
	require.NoError(t, os.Rename(other, path))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new-1"), data[:40], 0o600)) // of another program
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	a := open(t, dir, nil)
	require.Equal(t, []string{"damaged", "whole"}, titles(a))
	require.Len(t, a.Skipped(), 1, "the notes, which stay")
	require.NoError(t, os.Chtimes(filepath.Join(dir, "new-1"), time.Time{}, time.Now().Add(-2*time.Hour)))
	open(t, dir, nil)
	require.Len(t, files(t, dir), 3, "no program writes the unfinished file any more")
	require.NoError(t, os.Remove(path))
	require.True(t, a.Terminals()[0].Removed())
	_, missed := output(t, a.Terminals()[0], 0)
	require.EqualValues(t, 25, missed)
}

func TestADirectoryThatOthersCanAccess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its parent's access control decides")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755))
	_, err := archive.Open(dir, nil)
	require.ErrorContains(t, err, "open to other users")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = archive.Open(file, nil)
	require.Error(t, err)
}

func TestADirectoryInARoot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(dir, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	paths := []string{root, filepath.Join(root, "new"), filepath.Join(root, "sub", "new", "er")}
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Symlink(filepath.Join(root, "sub"), filepath.Join(dir, "into")))
		require.NoError(t, os.Symlink(dir, filepath.Join(root, "out")))
		paths = append(paths, filepath.Join(dir, "into", "new"), filepath.Join(root, "out", "new"))
	}
	for _, path := range paths {
		_, err := archive.Open(path, nil, dir+"/root/sub", root)
		require.ErrorContains(t, err, "where commands may write", path)
		require.NoFileExists(t, filepath.Join(root, "new"))
	}
	a, err := archive.Open(filepath.Join(dir, "new"), nil, root)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	_, err = archive.Open(filepath.Join(dir, "new"), nil, filepath.Join(dir, "missing"))
	require.Error(t, err)
}

// Names of sessions are recorded with their terminals, and those of this run can be found.
func TestNamesAndRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	a := open(t, dir, nil)
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Print("", 0)}})
	stop := a.Keep(m, "agent")
	a.NameSession("agent", "s", "Fix the tests")
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"}, nil)
	require.NoError(t, err)
	require.NoError(t, m.Release(t.Context(), "s", terminal.ID()))
	require.NoError(t, m.Shutdown(t.Context())) // the hooks have returned
	stop()
	require.NoError(t, a.Close())
	found := a.Find("agent", "s", terminal.ID())
	require.NotNil(t, found)
	require.False(t, found.Earlier())
	require.Equal(t, "Fix the tests", found.SessionName())
	require.Equal(t, "agent", found.Manager())
	require.Nil(t, a.Find("", "s", terminal.ID()))
	later := open(t, dir, nil)
	require.Nil(t, later.Find("agent", "s", terminal.ID()), "of an earlier run")
	require.Len(t, later.Terminals(), 1)
}
