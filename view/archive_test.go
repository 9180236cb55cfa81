package view_test

// The commands of earlier runs of the program, and the search in the output of all.

import (
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/archive"
	"github.com/acpterm/acpterm/view"
)

// archiveRun is one run of a program: its archive, and the manager that it keeps.
func archiveRun(t *testing.T, dir string, limits archive.Options, options acpterm.Options, run func(*viewer)) {
	t.Helper()
	a := must(archive.Open(dir, &limits))
	m := must(acpterm.NewManager(&options))
	a.Keep(m, "")
	v := must(view.New(m, &view.Options{Token: token, Archive: a}))
	v.NameSession("s", "Fix the tests")
	run(&viewer{t, m, v, nil})
	require.NoError(t, m.Close())
	require.NoError(t, v.Close())
	require.NoError(t, a.Close())
}

// ended waits until a command has ended.
func ended(t *testing.T, terminal *acpterm.Terminal) {
	t.Helper()
	_, err := terminal.Wait(t.Context())
	require.NoError(t, err)
}

// newLater starts a view with an archive of earlier runs.
func newLater(t *testing.T, dir string, m *acpterm.Manager, options view.Options) *viewer {
	options.Archive = must(archive.Open(dir, nil))
	t.Cleanup(func() { require.NoError(t, options.Archive.Close()) })
	return newViewer(t, m, options)
}

// rows returns the rows of the list.
func (v *viewer) rows() (rows []tableRow) {
	e, ok := v.open("events", "").next()
	require.True(v.t, ok)
	return decode[struct{ Rows []tableRow }](v.t, e.data).Rows
}

// text returns a page below the token.
func (v *viewer) text(path string, status int) string {
	v.t.Helper()
	response := v.request("GET", path, nil)
	require.Equal(v.t, status, response.StatusCode)
	return string(must(io.ReadAll(response.Body)))
}

func TestCommandsOfAnEarlierRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	archiveRun(t, dir, archive.Options{}, acpterm.Options{}, func(v *viewer) {
		ended(t, v.start("alternate", "3"))
		ended(t, v.start("exit", "3"))
	})
	v := newLater(t, dir, acptermtest.NewManager(t, nil), view.Options{AllowStop: true, Input: true})
	rows := v.rows()
	require.Len(t, rows, 2)
	require.Contains(t, rows[0].Command, "alternate 3")
	require.True(t, rows[0].Earlier && rows[0].Good && rows[0].Named)
	require.Equal(t, "Fix the tests", rows[0].Session)
	require.Equal(t, "finished", rows[1].State)
	require.Equal(t, "exit code 3", rows[1].Status)
	require.False(t, rows[1].CanStop)
	require.EqualValues(t, len("line 0\nline 1\nline 2\n"), rows[0].Bytes)

	path := "terminals/" + rows[0].Key
	text, missed, end := v.open(path+"/output", "").text(nil)
	require.Equal(t, "line 0\nline 1\nline 2\n", text)
	require.Zero(t, missed)
	require.True(t, end)
	text, _, _ = v.open(path+"/output?offset=7", "").text(nil)
	require.Equal(t, "line 1\nline 2\n", text)
	require.Equal(t, "line 0\nline 1\nline 2\n", v.text(path+"/text", 200))
	require.Contains(t, v.text(path+"/times?from=0", 200), `"lines":3`)
	require.Contains(t, v.text(path, 200), "line 0")
	stop := v.request("POST", path+"/stop", func(r *http.Request) { r.Header.Set("Acp-Terminal", "stop") })
	require.Equal(t, http.StatusNotFound, stop.StatusCode)
	require.Contains(t, v.text("", 200), "Fix the tests", "the page begins with them")

	now := v.start("exit", "4") // beside those of this run
	ended(t, now)
	for _, row := range v.rows() {
		require.Equal(t, row.Key != keyOf(now), row.Earlier)
	}
}

// A view of one session shows the archived terminals of that session only.
func TestArchivedTerminalsOfASession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	commands := acptermtest.Commands{"make": acptermtest.Print("secret of a session\n", 0)}
	archiveRun(t, dir, archive.Options{}, acpterm.Options{Runner: commands}, func(v *viewer) {
		ended(t, v.create("mine", "make", "mine"))
		ended(t, v.create("theirs", "make", "theirs"))
	})
	all := newLater(t, dir, made(t, commands, acpterm.Options{}), view.Options{}).rows()
	require.Len(t, all, 2)
	v := newLater(t, dir, made(t, commands, acpterm.Options{}), view.Options{Session: "mine"})
	rows := v.rows()
	require.Len(t, rows, 1)
	require.Equal(t, "make mine", rows[0].Command)
	v.text("terminals/"+all[0].Key+"/output", 200)
	v.text("terminals/"+all[1].Key+"/output", 404)
	v.text("terminals/"+all[1].Key+"/text", 404)
	require.Len(t, v.find("secret"), 1)
}

// The list keeps the commands that a view does not keep in memory, as long as the archive has them.
func TestCommandsBeyondMaxPast(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	commands := acptermtest.Commands{"*": func(p *acptermtest.Process) int {
		io.WriteString(p, "output of "+p.Command().String()+"\n")
		return 0
	}}
	a := must(archive.Open(dir, &archive.Options{MaxTerminals: 4}))
	m := made(t, commands, acpterm.Options{})
	stop := a.Keep(m, "")
	v := newViewer(t, m, view.Options{MaxPast: 2, Archive: a})
	var keys []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		terminal := v.create("s", name)
		ended(t, terminal)
		for a.Find("", "s", terminal.ID()) == nil { // it is written in the background
			require.NoError(t, t.Context().Err())
		}
		require.NoError(t, m.Release(t.Context(), "s", terminal.ID()))
		if keys = append(keys, keyOf(terminal)); name == "c" {
			require.Equal(t, "output of a\n", v.text("terminals/"+keys[0]+"/text", 200))
		}
	}
	require.False(t, slices.ContainsFunc(v.rows(), func(row tableRow) bool { return row.Key == keys[0] }))
	v.text("terminals/"+keys[0]+"/text", 404)
	v.text("terminals/"+keys[1]+"/text", 404)
	names := ""
	for _, row := range v.rows() {
		require.False(t, row.Earlier)
		names += row.Command
	}
	require.Equal(t, "cdef", names)
	stop()
	require.NoError(t, a.Close())
}

type match struct {
	Key, Text   string
	Line, Count int
}

// find searches in all output.
func (v *viewer) find(text string) []match {
	v.t.Helper()
	return decode[struct{ Found []match }](v.t, []byte(v.text("search?text="+url.QueryEscape(text), 200))).Found
}

func TestSearchInAllOutput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	long := strings.Repeat("0123456789 a line\n", 20_000) + "src/main.go:7: Undefined: ÄÖ " + strings.Repeat("x", 500)
	commands := acptermtest.Commands{
		"build": acptermtest.Print(long, 1),
		"test":  acptermtest.Print("ok\n\x1b[31mFAIL\x1b[m: undefined: äö\nundefined: äö\n", 1),
		"quiet": acptermtest.Print("", 0),
	}
	archiveRun(t, dir, archive.Options{}, acpterm.Options{Runner: commands}, func(v *viewer) { ended(t, v.create("s", "build")) })
	v := newLater(t, dir, made(t, commands, acpterm.Options{}), view.Options{})
	test := v.create("s", "test")
	ended(t, test)
	ended(t, v.create("s", "quiet"))
	build := v.rows()[0].Key
	require.Equal(t, []match{
		{Key: keyOf(test), Text: "FAIL: undefined: äö", Line: 2, Count: 2},
		{Key: build, Text: long[len(long)-531:][:200], Line: 20_001, Count: 1},
	}, v.find("uNDEFINED: äö"))
	require.Equal(t, []match{{Key: keyOf(test), Text: "FAIL: undefined: äö", Line: 2, Count: 1}}, v.find("fail: u"))
	require.Equal(t, 20_000, v.find("A LINE")[0].Count)
	require.Empty(t, v.find("nowhere"))
	require.Empty(t, v.find(".*"))
	for _, text := range []string{"", " ", "a\nb", strings.Repeat("x", 201)} {
		v.text("search?text="+url.QueryEscape(text), 400)
	}
}
