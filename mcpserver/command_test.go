//go:build unix

package mcpserver

// What results repeat, and the ids of commands.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// written waits until the newest command has written so many bytes, which no result shows.
func written(t *testing.T, s *mcp.ClientSession, size int) {
	t.Helper()
	require.Eventually(t, func() bool {
		l, _ := call[listResult](t, s, "list", nil)
		return l.Commands[len(l.Commands)-1].OutputBytes >= int64(size)
	}, time.Minute, time.Millisecond)
}

func TestKillShowsWhatIsNew(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	for _, c := range []struct {
		line, until string
		then, want  string // what the command writes unseen, and what kill shows
	}{
		{"echo up; sleep 1000", "up", "", ""},
		{"echo up; cat go; echo new; sleep 1000", "up", "new\n", "new\n"},
		{"trap 'echo bye; exit 3' TERM; echo up; while :; do :; done", "up", "", "bye\n"},
	} {
		dir := t.TempDir()
		require.NoError(t, os.Symlink("fifo", filepath.Join(dir, "go")))
		r, _ := call[commandResult](t, s, "run", object{"command": "mkfifo fifo; " + c.line, "cwd": dir, "wait_ms": 0})
		w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "until": c.until})
		require.Equal(t, "up\n", r.Output+w.Output)
		if c.then != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "fifo"), nil, 0))
			written(t, s, len("up\n"+c.then))
		}
		k, text := call[commandResult](t, s, "kill", object{"id": r.ID})
		require.Equal(t, c.want, k.Output)
		require.Equal(t, c.want != "", strings.Contains(text, "\n"), text)
		again, _ := call[commandResult](t, s, "kill", object{"id": r.ID})
		require.Empty(t, again.Output)
		all, _ := call[commandResult](t, s, "output", object{"id": r.ID})
		require.Equal(t, "up\n"+c.want, all.Output)
	}
}

// Nobody asks for the log of a server by killing it.
func TestKillShowsLittle(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	dir := t.TempDir()
	r, _ := call[commandResult](t, s, "run", object{
		"command": "mkfifo p; cat p; seq 20000; sleep 1000", "cwd": dir, "wait_ms": 0,
	})
	open := func() bool {
		_, err := os.Stat(filepath.Join(dir, "p"))
		return err == nil
	}
	require.Eventually(t, open, time.Minute, time.Millisecond)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p"), nil, 0))
	written(t, s, 108894)
	k, text := call[commandResult](t, s, "kill", object{"id": r.ID})
	require.True(t, strings.HasSuffix(k.Output, "\n20000\n"), k.Output)
	require.Contains(t, k.Output, "bytes omitted; to read them, call output with offset ")
	require.Less(t, len(text), defaultMaxText/killShare+512)
}

func TestWaitShowsWhatIsNew(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	dir := t.TempDir()
	r, _ := call[commandResult](t, s, "run", object{
		"command": "mkfifo p; echo one; cat p; echo two; cat p; seq 20000; cat p; exit 1", "cwd": dir, "wait_ms": 0,
	})
	step := func() { require.NoError(t, os.WriteFile(filepath.Join(dir, "p"), nil, 0)) }
	wait := func(more object) commandResult {
		more["id"] = r.ID
		w, _ := call[commandResult](t, s, "wait", more)
		return w
	}
	first := wait(object{"until": "one"})
	require.Equal(t, "one\n", r.Output+first.Output)
	step()
	require.Equal(t, "two\n", wait(object{"until": "two"}).Output)
	again := wait(object{"until": "one", "wait_ms": 0})
	require.True(t, *again.Matched) // also in what was shown
	require.Empty(t, again.Output)
	require.Equal(t, "one", again.MatchedLine)
	require.Equal(t, "one\ntwo\n", wait(object{"offset": 0, "wait_ms": 0}).Output)
	step()
	long := wait(object{"until": "20000"})
	require.True(t, strings.HasPrefix(long.Output, "1\n2\n"), long.Output)
	require.Positive(t, long.OmittedBytes)
	require.Empty(t, long.MatchedLine) // output has it
	call[commandResult](t, s, "output", object{"id": r.ID, "show": "start", "max_bytes": 1024})
	require.Empty(t, wait(object{"wait_ms": 0}).Output)
	step()
	require.Equal(t, uint32(1), *wait(object{}).ExitCode)
}

// A result that was cut before the command failed lacks the first errors, so wait shows all again.
func TestWaitShowsTheFirstErrorsOfALongCommand(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	dir := t.TempDir()
	r, _ := call[commandResult](t, s, "run", object{
		"command": "mkfifo p; seq 20000; echo 'a.c:1:2: error: first'; seq 20000; echo ready; cat p; exit 1", "cwd": dir,
		"wait_ms": 0,
	})
	w, _ := call[commandResult](t, s, "wait", object{"id": r.ID, "until": "ready"})
	require.NotContains(t, w.Output, "error: first")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p"), nil, 0))
	w, _ = call[commandResult](t, s, "wait", object{"id": r.ID})
	require.Contains(t, w.Output, "error: first")
	require.True(t, strings.HasSuffix(w.Output, "ready\n"))
}

// So does the end of output that was read alone, but not output that was shown whole.
func TestWaitShowsAllOfAFailureOnce(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	for offset, want := range map[int]string{-len("ready\n"): "one\nready\n", 0: ""} {
		dir := t.TempDir()
		r, _ := call[commandResult](t, s, "run", object{
			"command": "mkfifo p; echo up; cat p; echo one; echo ready; cat p; exit 1", "cwd": dir, "wait_ms": 0,
		})
		step := func() { require.NoError(t, os.WriteFile(filepath.Join(dir, "p"), nil, 0)) }
		call[commandResult](t, s, "wait", object{"id": r.ID, "until": "up"})
		step()
		written(t, s, len("up\none\nready\n"))
		call[commandResult](t, s, "output", object{"id": r.ID, "offset": offset})
		step()
		w, _ := call[commandResult](t, s, "wait", object{"id": r.ID})
		require.Equal(t, uint32(1), *w.ExitCode)
		if want != "" {
			want = "up\n" + want
		}
		require.Equal(t, want, w.Output)
	}
}

func TestResultsHaveWhatAModelNeeds(t *testing.T) {
	s := connect(t, newServer(t, nil, nil), nil)
	structured := func(tool string, arguments object) (all map[string]any, text string) {
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		encoded, err := json.Marshal(result.StructuredContent)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &all))
		return all, textOf(result)
	}
	all, text := structured("run", object{"command": "echo one"})
	id := all["id"]
	require.Equal(t, map[string]any{"id": id, "state": "ended", "exit_code": 0., "output": "one\n"}, all)
	require.Equal(t, fmt.Sprintf("[%s exit code 0]\none\n", id), text)
	all, text = structured("run", object{"command": "echo up; sleep 1000", "wait_ms": 0})
	if all["output"] == "up\n" {
		require.Contains(t, text, "; next_offset 3]")
	}
	all, text = structured("kill", object{"id": all["id"]})
	require.Equal(t, "killed", all["ended_by"])
	require.NotContains(t, all, "offset")
	require.NotContains(t, text, "offset")
}

func TestShortIDs(t *testing.T) {
	c := &session{ids: make(map[string]acpterm.TerminalID)}
	for _, id := range []struct{ whole, short string }{
		{"term_01ABCD", "ABCD"},
		{"term_02ABCD", "2ABCD"},
		{"term_01ABCD", "ABCD"}, // the same again
		{"term_01AB1234", "B1234"},
		{"term_1", "rm_1"},
	} {
		require.Equal(t, id.short, c.newID(acpterm.TerminalID(id.whole)))
		require.EqualValues(t, id.whole, c.terminalID(id.short))
		require.EqualValues(t, id.whole, c.terminalID(id.whole))
	}
}

// A session remembers released ids for a while, and not all of them for ever.
func TestReleasedIDsAreForgotten(t *testing.T) {
	server := newServer(t, nil, nil)
	s := connect(t, server, nil)
	kept, _ := call[commandResult](t, s, "run", object{"command": "echo kept"})
	released, _ := call[commandResult](t, s, "run", object{"command": "true"})
	call[releaseResult](t, s, "release", object{"id": released.ID})
	call[commandResult](t, s, "run", object{"command": "true"})
	call[releaseResult](t, s, "release", object{"id": released.ID})
	for c := range server.sessions {
		c.mu.Lock()
		for i := range manyIDs + 10 {
			c.ids[fmt.Sprint("old ", i)] = "old"
		}
		c.mu.Unlock()
		call[commandResult](t, s, "run", object{"command": "true"})
		c.mu.Lock()
		require.Len(t, c.ids, 3)
		require.Len(t, c.commands, 3)
		c.mu.Unlock()
	}
	again, _ := call[commandResult](t, s, "output", object{"id": kept.ID})
	require.Equal(t, "kept\n", again.Output)
}
