package view

// Tests from inside the package, for states that are slow to reach from outside.

import (
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

// deadWriter is a connection whose browser does not read: a write fails at its deadline.
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
		panic("no deadline")
	}
	return 0, errors.New("deadline exceeded")
}

func (w *deadWriter) FlushError() error { return nil }

func TestWriteTimeout(t *testing.T) {
	w := &deadWriter{ResponseWriter: httptest.NewRecorder()}
	s := new(stream)
	s.overResponse(w)
	s.write("data: %s\n\n", "x")
	s.flush()
	require.Error(t, s.err)
	require.WithinDuration(t, time.Now().Add(writeTimeout), w.deadline, writeTimeout/2)
	s.write("data: %s\n\n", "y")
	require.Equal(t, 1, w.writes, "nothing is written after an error")
}

func TestSurvivorsAreShown(t *testing.T) {
	m := must(acpterm.NewManager(nil))
	defer m.Close()
	v, err := New(m, &Options{AllowStop: true})
	require.NoError(t, err)
	defer v.Close()
	subject := acpterm.Subject{TerminalID: "term_1", SessionID: "s", Args: []string{"make"}}
	v.first.observe(&acpterm.EndEvent{Subject: subject, Err: errors.New("not started")})
	v.first.observe(&acpterm.SurvivorsEvent{Subject: subject, Survivors: []int{12, 34}})
	v.first.observe(&acpterm.SurvivorsEvent{Subject: acpterm.Subject{TerminalID: "term_removed"}, Survivors: []int{1}})
	require.Len(t, v.table.order, 1, "a removed command is not added again")
	e, _ := v.table.find(keyOf(0, "s", "term_1"))
	row, _, _, _ := v.table.rowOf(e)
	require.Contains(t, string(encode(row)), `"survivors":"12, 34"`)

	v.table.beginStop(e)
	v.table.endStop(e, remainder{}, "")
	late := acpterm.SurvivorsEvent{Subject: subject, Survivors: []int{12}, Time: e.leftAt.Add(-time.Nanosecond)}
	v.first.observe(&late)
	require.True(t, e.left.empty(), "the event is that of an earlier stop")
	late.Time = e.leftAt.Add(time.Nanosecond)
	v.first.observe(&late)
	require.Equal(t, []int{12}, e.left.survivors)
}

func TestStreamThatIsBehindAtTheEnd(t *testing.T) {
	m := must(acpterm.NewManager(&acpterm.Options{
		Runner: acptermtest.Commands{"make": acptermtest.Print(strings.Repeat("x", 3*maxLag), 0)},
	}))
	defer m.Close()
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"}, nil)
	require.NoError(t, err)
	<-terminal.Done()
	o := &outputStream{stream: &stream{sent: time.Now()}, terminal: terminal, at: 10}
	require.Equal(t, position{10, 2 * maxLag}, o.from(terminal))
	require.EqualValues(t, 2*maxLag-10, o.pending)
	o.at++
	require.Equal(t, position{2*maxLag + 1, 2*maxLag + 1}, o.from(terminal), "then it does not skip again")
}

// The race detector checks a request for output concurrent with the start event.
func TestOutputBeforeTheStartEvent(t *testing.T) {
	m := must(acpterm.NewManager(&acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Print("made", 0)}}))
	defer m.Close()
	v, err := New(m, nil)
	require.NoError(t, err)
	defer v.Close()
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"}, nil)
	require.NoError(t, err)
	subject := acpterm.Subject{TerminalID: terminal.ID(), SessionID: "s"}
	var both sync.WaitGroup
	both.Go(func() {
		page := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		page.SetPathValue("key", keyOf(0, terminal.SessionID(), terminal.ID()))
		v.serveOutput(httptest.NewRecorder(), page)
	})
	both.Go(func() { v.first.observe(&acpterm.StartEvent{Subject: subject, Time: time.Now(), Terminal: terminal}) })
	both.Wait()
}

// must returns value, and panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// A request that looked for a terminal while its source was removed does not add the terminal again.
func TestRemovedSourceAddsNothing(t *testing.T) {
	m := acptermtest.NewManager(t, &acpterm.Options{Runner: acptermtest.Commands{"make": acptermtest.Print("", 0)}})
	other := must(acpterm.NewManager(nil))
	defer other.Close()
	v := must(New(other, nil))
	defer v.Close()
	terminal, err := m.Create(t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "make"}, nil)
	require.NoError(t, err)
	source := v.Add(m, "agent")
	require.Len(t, v.table.order, 1)
	source.Remove()
	v.table.addTerminal(source, terminal)
	require.Empty(t, v.table.order)
}
