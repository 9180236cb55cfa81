package view

// What cannot be brought about from outside in a short time.

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/stretchr/testify/require"
)

// deadWriter is a connection whose browser takes nothing: a write lasts until its deadline.
type deadWriter struct {
	http.ResponseWriter
	deadline time.Time
	writes   int
}

func (w *deadWriter) SetWriteDeadline(deadline time.Time) error {
	w.deadline = deadline
	return nil
}

func (w *deadWriter) Write([]byte) (int, error) {
	w.writes++
	if w.deadline.IsZero() {
		panic("it would last for ever")
	}
	return 0, errors.New("deadline exceeded")
}

func (w *deadWriter) FlushError() error { return nil }

func TestBrowserThatTakesNothingIsGivenUp(t *testing.T) {
	w := &deadWriter{ResponseWriter: httptest.NewRecorder()}
	s := &sse{w: w, control: http.NewResponseController(w)}
	s.write("data: %s\n\n", "x")
	s.flush()
	require.Error(t, s.err)
	require.WithinDuration(t, time.Now().Add(writeTimeout), w.deadline, writeTimeout/2)
	s.write("data: %s\n\n", "y")
	require.Equal(t, 1, w.writes, "nothing is written after that")
}

func TestSurvivorsAreShown(t *testing.T) {
	m := acpterm.NewManager(nil)
	defer m.Close()
	v := Handler(m, &Options{AllowStop: true})
	defer v.Close()
	subject := acpterm.Subject{TerminalID: "term_1", SessionID: "s", Args: []string{"make"}}
	v.table.observe(&acpterm.EndEvent{Subject: subject, Err: errors.New("not started")})
	v.table.observe(&acpterm.SurvivorsEvent{Subject: subject, Survivors: []int{12, 34}})
	v.table.observe(&acpterm.SurvivorsEvent{Subject: acpterm.Subject{TerminalID: "term_forgotten"}, Survivors: []int{1}})
	require.Len(t, v.table.order, 1, "what was forgotten does not come back")
	e, _ := v.table.find("term_1")
	row, _, _, _ := v.table.rowOf(e)
	require.Contains(t, string(encode(row)), `"survivors":"12, 34"`)
}

func TestRowHasWhatThePageReads(t *testing.T) {
	subject := acpterm.Subject{TerminalID: "term_1", Args: []string{"rm", "a b"}}
	e := &entry{fixed: newRow(subject), denied: true, rule: "r", why: "w"}
	var row map[string]any
	require.NoError(t, json.Unmarshal(encode(e.makeRow(true)), &row))
	require.Equal(t, "denied", row["state"])
	require.Equal(t, `rm "a b"`, row["command"])
	require.Equal(t, false, row["canStop"])
	require.Contains(t, row, "bytes")
}

// Whether a page's stream is behind at the end is a matter of time, so it is made so here.
func TestStreamThatIsBehindAtTheEndGoesOnWithAllThatItCan(t *testing.T) {
	m := acpterm.NewManager(&acpterm.Options{
		Runner: acptermtest.Commands{"make": acptermtest.Print(strings.Repeat("x", 3*maxLag), 0)},
	})
	defer m.Close()
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"})
	require.NoError(t, err)
	<-terminal.Done()
	o := &outputStream{terminal: terminal, at: 10, sent: time.Now()}
	require.EqualValues(t, 2*maxLag, o.from(terminal))
	require.EqualValues(t, 2*maxLag-10, o.pending)
	o.at++
	require.EqualValues(t, 2*maxLag+1, o.from(terminal), "and then in order")
}

// A page may read a terminal's output before the event of its start has come: the two are for the race detector.
func TestAPageThatComesBeforeTheEventOfTheStart(t *testing.T) {
	m := acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Print("made", 0)}})
	defer m.Close()
	v := Handler(m, nil)
	defer v.Close()
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"})
	require.NoError(t, err)
	subject := acpterm.Subject{TerminalID: terminal.ID(), SessionID: "s"}
	var both sync.WaitGroup
	both.Go(func() {
		page := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		page.SetPathValue("id", string(terminal.ID()))
		v.serveOutput(httptest.NewRecorder(), page)
	})
	both.Go(func() { v.table.observe(&acpterm.StartEvent{Subject: subject, Time: time.Now(), Terminal: terminal}) })
	both.Wait()
}
