package journal_test

// Tests of the records: their content, when they exist, and how Recover treats invalid ones. recover_linux_test.go
// tests the effect of Recover on processes.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/journal"
)

type object = map[string]any

// fileNames returns the names of a directory's files, or none if the directory is missing.
func fileNames(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func newID() acpterm.TerminalID { return acpterm.TerminalID("term_" + ulid.Make().String()) }

// begin records a command of this process, and returns the record's file.
func begin(t testing.TB, dir string) (acpterm.TerminalInfo, string) {
	t.Helper()
	r := acpterm.TerminalInfo{
		ID: newID(), SessionID: "s", Created: time.Now(),
		Command: acpterm.Command{Path: "/bin/make", Args: []string{"make", "all"}, Dir: "/src", Env: []string{"NAME=secret"}},
	}
	require.NoError(t, journal.Dir(dir).Begin(r))
	return r, filepath.Join(dir, string(r.ID)+".json")
}

// started adds this process to a record as the command's process.
func started(t testing.TB, dir string, id acpterm.TerminalID) {
	t.Helper()
	require.NoError(t, journal.Dir(dir).Started(id, os.Getpid(), func() bool { return true }))
}

// readRecord reads a terminal's record.
func readRecord(t testing.TB, dir string, id acpterm.TerminalID) (r struct {
	Version           int
	Terminal, Session string
	Command           object
	Leader, Host      struct{ PID, Started int }
	Boot              string
	Created           time.Time
}) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, string(id)+".json"))
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(data))
	require.NoError(t, d.Decode(&r))
	require.NoError(t, d.Decode(&r.Leader), "the command's process comes after it")
	return r
}

// writeRecord writes the record of a terminal whose host has ended, in another boot of the machine unless changes name
// this boot.
func writeRecord(t testing.TB, dir string, changes object) acpterm.TerminalID {
	t.Helper()
	id := newID()
	if named, ok := changes["terminal"]; ok {
		id = named.(acpterm.TerminalID)
	}
	r := object{
		"version": 1, "terminal": id, "session": "s", "boot": "another",
		"command": object{"path": "/bin/make", "args": []string{"make", "all"}, "dir": "/src"},
		"host":    object{"pid": 4_000_000, "started": 1},
		"created": "2001-02-03T04:05:06Z",
	}
	leader := any(object{"pid": 4_000_001, "started": 1})
	maps.Copy(r, changes)
	if changed, ok := r["leader"]; ok {
		leader = changed
		delete(r, "leader")
	}
	var text bytes.Buffer
	require.NoError(t, json.NewEncoder(&text).Encode(r))
	require.NoError(t, json.NewEncoder(&text).Encode(leader))
	require.NoError(t, os.WriteFile(filepath.Join(dir, string(id)+".json"), text.Bytes(), 0o600))
	return id
}

func TestWhatARecordHas(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "journal")
	begun, file := begin(t, dir)
	started(t, dir, begun.ID)
	require.Equal(t, []string{filepath.Base(file)}, fileNames(t, dir))
	r := readRecord(t, dir, begun.ID)
	require.Equal(t, string(begun.ID), r.Terminal)
	require.Equal(t, "s", r.Session)
	require.Equal(t, object{"path": "/bin/make", "args": []any{"make", "all"}, "dir": "/src"}, r.Command)
	require.Equal(t, os.Getpid(), r.Leader.PID)
	require.Equal(t, r.Leader, r.Host)
	require.True(t, begun.Created.Equal(r.Created))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "NAME")
	require.NotContains(t, string(text), "secret")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
		info, err = os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	}

	recovered, err := journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, recovered, "its host lives")
	require.FileExists(t, file)
	for range 2 {
		require.NoError(t, journal.Dir(dir).End(begun.ID))
		require.NoFileExists(t, file)
	}
}

// A process whose number may already be reused is not recorded: Recover would take it for the command.
func TestAReapedProcessIsNotRecorded(t *testing.T) {
	dir := t.TempDir()
	begun, file := begin(t, dir)
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, journal.Dir(dir).Started(begun.ID, os.Getpid(), func() bool { return false }))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, before, now)
}

func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	r, file := begin(t, dir)
	require.ErrorContains(t, journal.Dir(file).Begin(r), file)
	require.NoError(t, os.Remove(file))
	err := journal.Dir(dir).Started(r.ID, os.Getpid(), func() bool { return true })
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, file)
	require.NoError(t, os.MkdirAll(filepath.Join(file, "full"), 0o700))
	require.ErrorContains(t, journal.Dir(dir).End(r.ID), file)
	require.Error(t, journal.Dir("").Begin(r), "no directory is no journal")
}

func TestRecoverWithoutAJournal(t *testing.T) {
	recovered, err := journal.Recover(t.Context(), filepath.Join(t.TempDir(), "missing"))
	require.NoError(t, err)
	require.Empty(t, recovered)
	recovered, err = journal.Recover(t.Context(), t.TempDir())
	require.NoError(t, err)
	require.Empty(t, recovered)
}

// After a restart of the machine no recorded process runs, but the records still describe them.
func TestRecoverFromAnotherBoot(t *testing.T) {
	dir := t.TempDir()
	host := object{"pid": os.Getpid(), "started": 1} // numbers start over with a boot
	first := writeRecord(t, dir, object{"host": host, "leader": object{"pid": os.Getpid(), "started": 1}})
	second := writeRecord(t, dir, object{"command": object{
		"path": "/bin/sh", "args": []string{"sh", "-c", "make | tee log"}, "dir": "/src", "shellLine": "make | tee log"}})
	recovered, err := journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, []journal.Recovered{{
		TerminalID: first, SessionID: "s", PID: os.Getpid(), HostPID: os.Getpid(),
		Command: acpterm.Command{Path: "/bin/make", Args: []string{"make", "all"}, Dir: "/src"},
		Created: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
	}, {
		TerminalID: second, SessionID: "s", PID: 4_000_001, HostPID: 4_000_000,
		Command: acpterm.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "make | tee log"}, Dir: "/src", ShellLine: "make | tee log"},
		Created: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC),
	}}, recovered)
	require.Empty(t, fileNames(t, dir))
}

func TestRecoverReportsAndSkipsWhatIsNoRecord(t *testing.T) {
	dir := t.TempDir()
	name := func() string { return string(newID()) + ".json" }
	whole, err := os.ReadFile(filepath.Join(dir, string(writeRecord(t, dir, nil))+".json"))
	require.NoError(t, err)
	bad := map[string]string{
		name():                      string(whole[:len(whole)/2]), // torn
		name():                      string(whole) + "x",
		name():                      "",
		name():                      string(whole) + "{}",
		name():                      string(whole), // another terminal's
		name():                      "[]",
		name():                      "null",
		name():                      `{"name": "some other program's", "version": 1}`,
		"settings.json":             string(whole),
		"term_1.json":               string(whole),
		"term_.json":                string(whole),
		strings.ToLower(name()):     string(whole),
		"README":                    "what is this?",
		"README.tmp":                "what is this?",
		name() + ".1.tmp":           "",
		name() + ".1.2.tmp.tmp":     "",
		"term_1.json.4000000.1.tmp": "",
		name() + ".-4.1.tmp":        "",
		name() + ".04000.1.tmp":     "",
		name() + ".4000.1.2.tmp":    "",
	}
	for name, text := range bad {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	directory := name()
	require.NoError(t, os.Mkdir(filepath.Join(dir, directory), 0o700))
	future := writeRecord(t, dir, object{"version": 2})
	partial := []acpterm.TerminalID{
		writeRecord(t, dir, object{"session": ""}),
		writeRecord(t, dir, object{"host": nil}),
		writeRecord(t, dir, object{"command": nil}),
		writeRecord(t, dir, object{"leader": object{"pid": -1}}),
	}
	good := writeRecord(t, dir, nil)

	recovered, err := journal.Recover(t.Context(), dir)
	require.Len(t, recovered, 2, "the good ones")
	require.Equal(t, good, recovered[1].TerminalID)
	var e *acpterm.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, acpterm.ErrInternal, e.Kind)
	for name := range bad {
		require.ErrorContains(t, err, name)
		require.FileExists(t, filepath.Join(dir, name))
	}
	require.ErrorContains(t, err, directory)
	require.ErrorContains(t, err, string(future)+".json: a record of version 2")
	for _, id := range partial {
		require.ErrorContains(t, err, string(id))
	}
	require.Len(t, fileNames(t, dir), len(bad)+1+1+len(partial))
}

// Recover returns the record of a host that died before it knew the command's process, or while writing it.
func TestRecoverWithoutTheProcess(t *testing.T) {
	dir := t.TempDir()
	id := writeRecord(t, dir, nil)
	file := filepath.Join(dir, string(id)+".json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for size := bytes.IndexByte(text, '\n'); size < len(text)-2; size++ { // without the last brace
		require.NoError(t, os.WriteFile(file, text[:size], 0o600))
		recovered, err := journal.Recover(t.Context(), dir)
		require.NoError(t, err)
		require.Len(t, recovered, 1)
		require.Equal(t, id, recovered[0].TerminalID)
		require.Zero(t, recovered[0].PID)
	}
}

// Recover removes the temporary file of a host that died while writing, but not one that another host is writing.
func TestRecoverRemovesHalfWrittenFilesOfTheDead(t *testing.T) {
	dir := t.TempDir()
	begun, _ := begin(t, dir)
	started(t, dir, begun.ID)
	host := readRecord(t, dir, begun.ID).Host
	name := func(pid, started int) string {
		return filepath.Join(dir, fmt.Sprintf("%s.json.%d.%d.tmp", newID(), pid, started))
	}
	ours, dead := name(host.PID, host.Started), name(4_190_000, 1)
	require.NoError(t, os.WriteFile(ours, nil, 0o600))
	require.NoError(t, os.WriteFile(dead, []byte(`{"ver`), 0o600))
	recovered, err := journal.Recover(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, recovered)
	require.FileExists(t, ours)
	require.NoFileExists(t, dead)
}

// FuzzRecover checks that every file with the name of a record is either recovered and removed, or reported and kept.
func FuzzRecover(f *testing.F) {
	const id = "term_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	f.Add([]byte(`{"version":1,"terminal":"` + id + `","session":"s","command":{"args":["x"]},"host":{"pid":1},"boot":"b"}`))
	f.Add([]byte(`{"version":1,"terminal":"` + id + `","session":"s","command":{"args":[]},"host":{"pid":1e9}}`))
	f.Add([]byte(`{"version":1,"terminal":"` + id + `"`))
	f.Add([]byte(`{"version":1,"terminal":"` + id + `","session":"s","command":{"args":["x"]},"host":{"pid":1},"boot":"b"}{"pid":7}`))
	dir := f.TempDir()
	file := filepath.Join(dir, id+".json")
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(file, data, 0o600))
		recovered, err := journal.Recover(t.Context(), dir)
		if err != nil {
			require.Empty(t, recovered)
			require.ErrorContains(t, err, id)
			require.FileExists(t, file)
			return
		}
		if len(recovered) == 0 {
			require.FileExists(t, file) // its host lives
			return
		}
		require.Len(t, recovered, 1)
		require.Equal(t, acpterm.TerminalID(id), recovered[0].TerminalID)
		require.NotEmpty(t, recovered[0].SessionID)
		require.NotEmpty(t, recovered[0].Command.String())
		require.Empty(t, recovered[0].Command.Env)
		require.NoFileExists(t, file)
	})
}
