package view_test

// Terminals owned by the agent.

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/agentterm"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
	"github.com/stretchr/testify/require"
)

// members are the members of an update.
type members = map[string]any

var cancellable = members{"capabilities": members{"cancel": members{}}}

// row reads the command's row until enough returns true for it.
func (s *stream) row(enough func(tableRow) bool) (found tableRow) {
	s.t.Helper()
	s.until(func(row tableRow) bool {
		ok := row.State != "" && enough(row)
		if ok {
			found = row
		}
		return ok
	})
	return found
}

// pieces reads output until enough returns true for a piece.
func (s *stream) pieces(enough func(piece) bool) (all []piece) {
	s.t.Helper()
	for {
		e, ok := s.next()
		require.True(s.t, ok, "the stream has ended")
		if e.kind != "message" {
			continue
		}
		all = append(all, decode[piece](s.t, e.data))
		if enough(all[len(all)-1]) {
			return all
		}
	}
}

func texts(want string) func(piece) bool { return func(p piece) bool { return p.Text == want } }

// The list shows commands of both kinds, and the agent's changes to its own.
func TestRowsOfAgentTerminals(t *testing.T) {
	t.Parallel()
	m := made(t, acptermtest.Commands{"serve": acptermtest.Block}, acpterm.Options{})
	v := newViewer(t, m, view.Options{AllowStop: true})
	a := viewtest.NewAgent(t, m, agentterm.Options{})
	s := v.open("events", "")
	v.create("s", "serve")
	require.False(t, s.row(func(r tableRow) bool { return r.Command == "serve" }).Agent)

	a.Update("s", "t1", members{"command": "npm test", "cwd": "/w"})
	row := s.row(func(r tableRow) bool { return r.Command == "npm test" })
	require.True(t, row.Agent)
	require.Equal(t, "/w", row.Dir)
	require.Equal(t, "running", row.State)
	require.False(t, row.CanStop)
	for _, change := range []struct {
		update members
		is     func(tableRow) bool
	}{
		{members{"command": "npm test -- cart"}, func(r tableRow) bool { return r.Command == "npm test -- cart" }},
		{members{"cwd": "/w/cart"}, func(r tableRow) bool { return r.Dir == "/w/cart" }},
		{members{"size": members{"cols": 120, "rows": 40}}, func(r tableRow) bool {
			return r.Columns == 120 && r.Rows == 40
		}},
		{cancellable, func(r tableRow) bool { return r.CanStop }},
		{members{"capabilities": nil}, func(r tableRow) bool { return !r.CanStop }},
		{members{"command": nil, "cwd": nil, "size": nil}, func(r tableRow) bool {
			return r.Command+r.Dir == "" && r.Columns == 0
		}},
		{members{"command": "a\u202eb"}, func(r tableRow) bool { return r.Command == `a\u{202e}b` }},
	} {
		a.Update("s", "t1", change.update)
		row = s.row(change.is)
		require.True(t, row.Agent)
	}
}

// The cause of a command's end may be unknown and reported later. Once known, it stays.
func TestEndOfAgentTerminals(t *testing.T) {
	t.Parallel()
	m := made(t, nil, acpterm.Options{})
	v := newViewer(t, m, view.Options{AllowStop: true})
	a := viewtest.NewAgent(t, m, agentterm.Options{})
	var terminal *acpterm.Terminal
	for _, c := range []struct {
		id     acpterm.TerminalID
		path   func() string
		code   int
		status string
	}{
		{"list-3", func() string { return "events" }, 3, "exit code 3"},
		{"list-0", func() string { return "events" }, 0, "exit code 0"},
		{"page-3", func() string { return output(terminal) }, 3, "exit code 3"},
		{"page-0", func() string { return output(terminal) }, 0, "exit code 0"},
	} {
		terminal = a.Update("s", c.id, cancellable)
		key := keyOf(terminal)
		s := v.open(c.path(), "")
		a.Update("s", c.id, members{"exitStatus": members{}})
		row := s.row(func(r tableRow) bool { return r.Key == key && r.State == "finished" })
		require.Empty(t, row.Status)
		require.False(t, row.Good)
		require.False(t, row.CanStop)
		a.Update("s", c.id, members{"exitStatus": members{"exitCode": c.code}})
		row = s.row(func(r tableRow) bool { return r.Key == key && r.Status != "" })
		require.Equal(t, c.status, row.Status)
		require.Equal(t, c.code == 0, row.Good)
		for _, other := range []any{members{"exitCode": 9}, members{}, nil} {
			a.Update("s", c.id, members{"exitStatus": other})
		}
		a.Update("s", c.id, members{"command": "make"})
		row = s.row(func(r tableRow) bool { return r.Key == key && r.Command == "make" })
		require.Equal(t, c.status, row.Status)
		s.close()
	}
	require.Equal(t, http.StatusAccepted, v.stop(keyOf(terminal)), "an ended command")

	s := v.open("events", "")
	a.Update("s", "t2", nil)
	require.NoError(t, m.Release(t.Context(), "s", "t2"))
	require.Empty(t, s.row(func(r tableRow) bool { return r.State == "released" }).Status)
	a.Update("s", "t3", nil)
	require.NoError(t, a.Close())
	require.Empty(t, s.row(func(r tableRow) bool { return r.State == "agent gone" }).Status)
}

// A snapshot voids a page's output, wherever the page is.
func TestReplacedOutput(t *testing.T) {
	t.Parallel()
	m := made(t, nil, acpterm.Options{})
	v := newViewer(t, m, view.Options{})
	a := viewtest.NewAgent(t, m, agentterm.Options{})
	terminal := a.Print("s", "t1", "one\ntwo\n")
	s := v.open(output(terminal), "")
	require.False(t, s.pieces(texts("one\ntwo\n"))[0].Replaced)
	before := s.lastID

	a.Update("s", "t1", viewtest.Snapshot("one\ntwo\nthree\n"))
	require.False(t, s.pieces(texts("three\n"))[0].Replaced, "it goes on")
	a.Update("s", "t1", viewtest.Snapshot("four\n"))
	require.Equal(t, []piece{{Offset: 15, Text: "four\n", Replaced: true}}, s.pieces(texts("four\n")))
	a.Update("s", "t1", viewtest.Snapshot(""))
	require.True(t, s.pieces(texts(""))[0].Replaced, "nothing is left")
	cleared := s.lastID
	a.Print("s", "t1", "five\n")
	require.False(t, s.pieces(texts("five\n"))[0].Replaced)
	sizes := v.open(output(terminal), "") // its first row has them; s may have read its own with the pieces
	sizes.until(func(r tableRow) bool { return r.Bytes == 5 && r.Dropped == 0 })
	sizes.close()

	for _, ended := range []bool{false, true} {
		for _, c := range []struct {
			id       string
			replaced bool
		}{{"", true}, {before, true}, {cleared, false}} {
			s := v.open(output(terminal), c.id)
			got := s.pieces(texts("five\n"))
			require.Equal(t, []piece{{Offset: 21, Text: "five\n", Replaced: c.replaced}}, got,
				"ended %t, id %q", ended, c.id)
			require.Len(t, got, 1)
			s.close()
		}
		a.Update("s", "t1", members{"exitStatus": members{"exitCode": 0}})
		<-terminal.Done()
	}
	require.NoError(t, m.Release(t.Context(), "s", "t1"))
	text, _, over := v.open(output(terminal), before).text(nil)
	require.Equal(t, "five\n", text)
	require.True(t, over)
}

// A page that shows an ended terminal of the agent also shows later output, until the release.
func TestOutputAfterTheEnd(t *testing.T) {
	t.Parallel()
	m := made(t, nil, acpterm.Options{})
	v := newViewer(t, m, view.Options{})
	a := viewtest.NewAgent(t, m, agentterm.Options{})
	terminal := a.Print("s", "t1", "started\n")
	s := v.open(output(terminal), "")
	s.pieces(texts("started\n"))
	a.Update("s", "t1", members{"exitStatus": members{}})
	require.Equal(t, "finished", s.row(func(r tableRow) bool { return r.Ended != 0 }).State)
	a.Print("s", "t1", "late\n")
	require.False(t, s.pieces(texts("late\n"))[0].Replaced)
	a.Update("s", "t1", viewtest.Snapshot("other\n"))
	require.True(t, s.pieces(texts("other\n"))[0].Replaced)
	a.Update("s", "t1", members{"exitStatus": members{"exitCode": 3}})
	s.row(func(r tableRow) bool { return r.Status == "exit code 3" })
	require.NoError(t, m.Release(t.Context(), "s", "t1"))
	text, _, ended := s.text(nil)
	require.Empty(t, text)
	require.True(t, ended)
}

// A page that skips output because it is slow learns that its output is void.
func TestSkippedReplacement(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	m := made(t, nil, acpterm.Options{Commands: acpterm.CommandOptions{OutputByteLimit: 8 * mib}})
	v := newViewer(t, m, view.Options{})
	a := viewtest.NewAgent(t, m, agentterm.Options{})
	terminal := a.Print("s", "t1", "before")
	s := v.open(output(terminal), "")
	s.pieces(texts("before"))
	id := s.lastID
	s.close()
	a.Update("s", "t1", viewtest.Snapshot(strings.Repeat("x", 3*mib)))
	got := v.open(output(terminal), id).pieces(func(piece) bool { return true })[0]
	require.True(t, got.Replaced)
	require.EqualValues(t, 2*mib, got.Missed, "of the new output")
	require.EqualValues(t, len("before")+1+2*mib, got.Offset)
}

// Ids belong to the agent, and two sessions may use the same ones.
func TestIDsOfAgentTerminals(t *testing.T) {
	t.Parallel()
	m := made(t, nil, acpterm.Options{})
	v := newViewer(t, m, view.Options{AllowStop: true})
	cancelled := make(chan acpterm.TerminalRequest, 1)
	a := viewtest.NewAgent(t, m, agentterm.Options{Cancel: func(
		_ context.Context, r acpterm.TerminalRequest,
	) error {
		cancelled <- r
		return nil
	}})
	ids := []acpterm.TerminalID{"call_1", "a/b?c#d%2F é", "..", ".", "/", "a//b", "\x00\n\"<", "%", "terminal",
		acpterm.TerminalID(strings.Repeat("é/", 340))}
	sessions := []acpterm.SessionID{"s1", "s2", "s/1?#%", "s", "s1call_1"}
	list, keys := v.open("events", ""), make(map[string]bool)
	for _, session := range sessions {
		for _, id := range ids {
			text := string(session) + " " + string(id)
			terminal := a.Print(session, id, text)
			a.Update(session, id, members{"command": text, "capabilities": members{"cancel": members{}}})
			key := keyOf(terminal)
			require.False(t, keys[key])
			keys[key] = true
			require.Regexp(t, `^[A-Za-z0-9_-]{24}$`, key)
			row := list.row(func(r tableRow) bool { return r.Key == key && r.Command != "" && r.CanStop })
			require.True(t, row.Agent)

			s := v.open("terminals/"+row.Key+"/output", "")
			got, _, _ := s.text(func(string) bool { return true })
			require.Equal(t, text, got)
			s.close()
			require.Equal(t, http.StatusOK, v.request("GET", "terminals/"+row.Key, nil).StatusCode)
			require.Equal(t, http.StatusAccepted, v.stop(row.Key))
			require.Equal(t, acpterm.TerminalRequest{SessionID: session, TerminalID: id}, <-cancelled)
			a.Update(session, id, members{"exitStatus": members{}})
		}
	}
}

// An agent may reuse the id of a released terminal. A page with output of the first receives all of the second.
func TestIDThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	m := made(t, nil, acpterm.Options{})
	v := newViewer(t, m, view.Options{})
	a := viewtest.NewAgent(t, m, agentterm.Options{})
	first := a.Print("s", "t1", "the first\n")
	list, s := v.open("events", ""), v.open(output(first), "")
	number := list.row(func(r tableRow) bool { return r.Key == keyOf(first) }).Number
	s.pieces(texts("the first\n"))
	require.NoError(t, m.Release(t.Context(), "s", "t1"))
	_, _, ended := s.text(nil)
	require.True(t, ended)

	a.Update("s", "t1", members{"command": "again"}) // otherwise it stays released
	second := a.Print("s", "t1", "another\n")
	require.Equal(t, keyOf(first), keyOf(second))
	row := list.row(func(r tableRow) bool {
		return r.Key == keyOf(second) && r.State == "running" && r.Number != number
	})
	require.Positive(t, row.Number)
	got := v.open(output(second), s.lastID).pieces(texts("another\n"))
	require.Equal(t, []piece{{Replaced: true}, {Text: "another\n"}}, got)
}

// A stop that cannot work is refused, and one refused by the agent is shown.
func TestStopOfAgentTerminals(t *testing.T) {
	t.Parallel()
	m := made(t, nil, acpterm.Options{})
	v := newViewer(t, m, view.Options{AllowStop: true})
	answers := make(chan error)
	a := viewtest.NewAgent(t, m, agentterm.Options{Cancel: viewtest.Answer(answers)})
	terminal := a.Update("s", "t1", members{"command": "npm test"})
	key := keyOf(terminal)
	s := v.open(output(terminal), "")
	require.False(t, s.row(func(r tableRow) bool { return r.State == "running" }).CanStop)
	require.Equal(t, http.StatusConflict, v.stop(key))
	require.Equal(t, acpterm.StateRunning, terminal.State())

	a.Update("s", "t1", cancellable)
	s.row(func(r tableRow) bool { return r.CanStop })
	require.Equal(t, http.StatusAccepted, v.stop(key))
	require.True(t, s.row(func(r tableRow) bool { return r.Stopping }).CanStop, "the agent can be asked again")
	answers <- errors.New("it is busy\x1b")
	row := s.row(func(r tableRow) bool { return !r.Stopping })
	require.Contains(t, row.StopError, `it is busy\u{1b}`)
	require.True(t, row.CanStop)

	require.Equal(t, http.StatusAccepted, v.stop(key))
	require.Empty(t, s.row(func(r tableRow) bool { return r.Stopping }).StopError)
	require.Equal(t, http.StatusAccepted, v.stop(key))
	require.False(t, s.row(func(r tableRow) bool { return !r.CanStop }).CanStop, "not a third time")
	answers <- nil
	answers <- nil
	a.Update("s", "t1", members{"exitStatus": members{"signal": "SIGTERM"}})
	row = s.row(func(r tableRow) bool { return r.Ended != 0 && !r.Stopping })
	require.Equal(t, "stopped", row.State)
	require.Equal(t, "signal SIGTERM", row.Status)
	require.Empty(t, row.StopError)
}
