package view_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// The list shows terminals of several managers side by side, even if all their ids are the same.
func TestSources(t *testing.T) {
	commands := acptermtest.Commands{"one": acptermtest.Print("of one", 0), "two": acptermtest.Print("of two", 0)}
	first, second := made(t, commands, acpterm.Options{}), made(t, commands, acpterm.Options{})
	v := newViewer(t, first, view.Options{})
	row := func(enough func(tableRow) bool) (found tableRow) {
		t.Helper()
		v.open("events", "").until(func(r tableRow) bool { found = r; return enough(r) })
		return found
	}
	text := func(key string) (int, string) {
		response := v.request("GET", "terminals/"+key+"/text", nil)
		return response.StatusCode, string(must(io.ReadAll(response.Body)))
	}
	create := func(m *acpterm.Manager, command string) *acpterm.Terminal {
		terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: command}, nil)
		require.NoError(t, err)
		<-terminal.Done()
		return terminal
	}
	one, early := create(first, "one"), create(second, "two")
	source := v.view.Add(second, "helper\u202e")
	late := create(second, "two")

	a := row(func(r tableRow) bool { return r.Key == keyOf(one) && r.Good })
	require.Empty(t, a.Source)
	key := func(terminal *acpterm.Terminal) string {
		path := source.TerminalPath(terminal.SessionID(), terminal.ID())
		return path[strings.LastIndexByte(path, '/')+1:]
	}
	for _, terminal := range []*acpterm.Terminal{early, late} {
		require.NotEqual(t, keyOf(terminal), key(terminal), "the first manager may have a terminal of the same ids")
		b := row(func(r tableRow) bool { return r.Key == key(terminal) && r.Good })
		require.Equal(t, `helper\u{202e}`, b.Source)
		require.Equal(t, terminal.Info().PID, b.PID)
		require.NotEqual(t, a.SessionKey, b.SessionKey)
		status, out := text(key(terminal))
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "of two", out)
	}

	source.NameSession("s", "tests\u202e")
	row(func(r tableRow) bool { return r.Key == key(late) && r.Session == `tests\u{202e}` })
	v.view.NameSession("s", "build")
	row(func(r tableRow) bool { return r.Key == keyOf(one) && r.Session == "build" && r.Named })
	third := create(second, "one")
	row(func(r tableRow) bool { return r.Key == key(third) && r.Session == `tests\u{202e}` })
	v.view.NameSession("s", "")
	row(func(r tableRow) bool { return r.Key == keyOf(one) && r.Session == "s" })

	source.Remove()
	source.Remove()
	source.NameSession("s", "nothing")
	for _, terminal := range []*acpterm.Terminal{early, late, third, create(second, "one")} {
		status, _ := text(key(terminal))
		require.Equal(t, http.StatusNotFound, status)
	}
	status, out := text(keyOf(one))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "of one", out)
	require.NoError(t, v.view.Close())
	v.view.Add(second, "late").Remove()
}

// A host names every session, and some never get a command.
func TestNamesAreBounded(t *testing.T) {
	m := made(t, acptermtest.Commands{"one": acptermtest.Print("", 0)}, acpterm.Options{})
	v := newViewer(t, m, view.Options{MaxPast: 10})
	named := func(session acpterm.SessionID) (named bool) {
		terminal := v.create(session, "one")
		v.open("events", "").until(func(r tableRow) bool {
			named = r.Named
			return r.Key == keyOf(terminal)
		})
		return named
	}
	v.view.NameSession("in use", "a name")
	require.True(t, named("in use")) // the view knows its command
	v.view.NameSession("unused", "a name")
	v.view.NameSession("renamed", "a name")
	session := func(i int) acpterm.SessionID { return acpterm.SessionID(fmt.Sprint("session ", i)) }
	for i := range 998 {
		v.view.NameSession(session(i), "a name")
	}
	v.view.NameSession("renamed", "another name")
	v.view.NameSession("last", "a name")
	require.False(t, named("unused"), "the oldest name without commands")
	require.True(t, named("in use"))
	require.True(t, named("renamed"))
	require.True(t, named(session(0)))
	require.True(t, named("last"))
}
