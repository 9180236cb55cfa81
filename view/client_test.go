package view_test

// A Go client of the view: requests and event streams.

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/internal/racetest"
	"github.com/acpterm/acpterm/internal/terminaltest/children"
	"github.com/acpterm/acpterm/internal/viewtest"
	"github.com/acpterm/acpterm/view"
)

const token = "a-token-for-tests-only"

// TestMain lets the test binary also act as a command.
func TestMain(m *testing.M) {
	children.Main(nil)
	racetest.Restart()
	if err := flag.Set("test.parallel", "12"); err != nil { // such tests mostly wait
		panic(err)
	}
	os.Exit(m.Run())
}

// viewer is a manager, its view and the view's server.
type viewer struct {
	t testing.TB
	*acpterm.Manager
	view   *view.View
	server *httptest.Server
}

// newViewer starts a view and its own server, and closes both when the test ends.
func newViewer(
	t testing.TB, m *acpterm.Manager, options view.Options, configure ...func(*httptest.Server),
) *viewer {
	options.Token = token
	v := must(view.New(m, &options))
	server := httptest.NewUnstartedServer(nil)
	server.Config = v.Server()
	for _, change := range configure {
		change(server)
	}
	if server.EnableHTTP2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		require.NoError(t, v.Close())
		server.Close()
	})
	return &viewer{t, m, v, server}
}

// made returns a manager of commands without processes.
func made(t testing.TB, commands acptermtest.Commands, options acpterm.Options) *acpterm.Manager {
	options.Runner = commands
	return acptermtest.NewManager(t, &options)
}

// newSteps starts the command "make". It prints each text sent to it, and ends when the channel is closed.
func newSteps(t *testing.T, configure ...func(*httptest.Server)) (*viewer, *acpterm.Terminal, chan<- string) {
	texts := make(chan string)
	m := made(t, acptermtest.Commands{"make": viewtest.Steps(texts)}, acpterm.Options{})
	v := newViewer(t, m, view.Options{}, configure...)
	return v, v.create("s", "make"), texts
}

func (v *viewer) create(session acpterm.SessionID, command string, args ...string) *acpterm.Terminal {
	v.t.Helper()
	terminal, err := v.Create(v.t.Context(), acpterm.CreateTerminalRequest{SessionID: session, Command: command,
		Args: args}, nil)
	require.NoError(v.t, err)
	return terminal
}

// start starts a command of package children.
func (v *viewer) start(child string, args ...string) *acpterm.Terminal {
	v.t.Helper()
	line := children.Args(child, args...)
	return v.create("s", line[0], line[1:]...)
}

// request sends a request for a path below the token. edit may change it.
func (v *viewer) request(method, path string, edit func(*http.Request)) *http.Response {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.server.URL+v.view.Path()+path, nil)
	require.NoError(v.t, err)
	if edit != nil {
		edit(r)
	}
	response, err := v.server.Client().Do(r)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { response.Body.Close() })
	return response
}

type stream struct {
	t      testing.TB
	lines  *bufio.Reader
	close  func()
	lastID string
}

type event struct {
	kind string
	data []byte
}

// open opens a stream. It starts after an event id, unless the id is empty.
func (v *viewer) open(path, lastID string) *stream {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	response := v.request("GET", path, func(r *http.Request) {
		*r = *r.WithContext(ctx)
		if lastID != "" {
			r.Header.Set("Last-Event-ID", lastID)
		}
	})
	require.Equal(v.t, http.StatusOK, response.StatusCode)
	require.Equal(v.t, "text/event-stream", response.Header.Get("Content-Type"))
	v.t.Cleanup(cancel)
	return &stream{v.t, bufio.NewReaderSize(response.Body, 1<<10), cancel, lastID}
}

// output returns the path of a terminal's stream.
func output(terminal *acpterm.Terminal) string {
	return "terminals/" + keyOf(terminal) + "/output"
}

// keyOf returns a terminal's key.
func keyOf(terminal *acpterm.Terminal) string {
	path := (&view.View{}).TerminalPath(terminal.SessionID(), terminal.ID())
	return path[strings.LastIndexByte(path, '/')+1:]
}

// next reads an event. ok is false if the stream has ended.
func (s *stream) next() (e event, ok bool) {
	s.t.Helper()
	e.kind = "message"
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, false
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && e.data != nil:
			return e, true
		case name == "event":
			e.kind = value
		case name == "id":
			s.lastID = value
		case name == "data":
			e.data = []byte(value)
		}
	}
}

type piece struct {
	Offset, Missed int64
	Text           string
	Replaced       bool
}

type tableRow struct {
	Key, SessionKey, Source, Session, Command, Program, Dir, State, Status, Rule, Survivors string
	StopError, By, Activity, Listening                                                      string
	Earlier, Agent, Named, Good, Shell, CanStop, Stopping, PTY, Input, Background           bool
	Columns, Rows, PID                                                                      int
	Number, Bytes, Dropped, Started, Ended, Idle                                            int64
}

// text reads output until enough returns true, or to the end, and counts the missed bytes.
func (s *stream) text(enough func(text string) bool) (text string, missed int64, ended bool) {
	s.t.Helper()
	var b strings.Builder
	for {
		e, ok := s.next()
		if !ok {
			return b.String(), missed, false
		}
		switch e.kind {
		case "end":
			return b.String(), missed, true
		case "message":
			p := decode[piece](s.t, e.data)
			missed += p.Missed
			b.WriteString(p.Text)
			if enough != nil && enough(b.String()) {
				return b.String(), missed, false
			}
		}
	}
}

func decode[T any](t testing.TB, data []byte) (value T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(data, &value), string(data))
	return value
}

// table reads /events into rows, by command, until enough returns true.
func (s *stream) table(rows map[string]tableRow, enough func(map[string]tableRow) bool) {
	s.t.Helper()
	for !enough(rows) {
		e, ok := s.next()
		require.True(s.t, ok, "the stream has ended; the rows are %+v", rows)
		message := decode[struct {
			Rows, Sizes []tableRow
			Gone        []string
		}](s.t, e.data)
		for _, row := range message.Rows {
			rows[row.Command] = row
		}
		for _, size := range message.Sizes {
			for command, row := range rows {
				if row.Key == size.Key {
					row.Bytes, row.Dropped = size.Bytes, size.Dropped
					rows[command] = row
				}
			}
		}
		for _, id := range message.Gone {
			for command, row := range rows {
				if row.Key == id {
					delete(rows, command)
				}
			}
		}
	}
}

// until reads events until enough returns true for a row or size. It returns the number of bytes of data.
func (s *stream) until(enough func(tableRow) bool) (read int) {
	s.t.Helper()
	for {
		e, ok := s.next()
		require.True(s.t, ok, "the stream has ended")
		read += len(e.data)
		message := decode[struct {
			Row, Size   tableRow
			Rows, Sizes []tableRow
		}](s.t, e.data)
		if slices.ContainsFunc(slices.Concat(message.Rows, message.Sizes, []tableRow{message.Row, message.Size}), enough) {
			return read
		}
	}
}

// must returns value, and panics if err is not nil.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
