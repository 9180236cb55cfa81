//go:build linux || darwin || freebsd

package view_test

// Input from pages into terminals with a PTY, and the rows of those terminals.

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

const maxInput = 64 << 10 // of one request

// typist is a viewer of commands with a PTY.
type typist struct {
	*viewer
	hold chan struct{} // if not nil, delays the view's event of a resize until it is closed

	mu     sync.Mutex
	events []*acpterm.InputEvent
}

func newTypist(t *testing.T, options view.Options, configure ...func(*httptest.Server)) *typist {
	y := &typist{}
	m := acptermtest.NewManager(t, nil)
	m.Observe(func(e acpterm.Event) {
		switch e := e.(type) {
		case *acpterm.InputEvent:
			y.mu.Lock()
			defer y.mu.Unlock()
			y.events = append(y.events, e)
		case *acpterm.ResizeEvent:
			if y.hold != nil {
				<-y.hold
			}
		}
	})
	y.viewer = newViewer(t, m, options, configure...)
	return y
}

// sh starts a script on a PTY, and waits until it prints "ready".
func (y *typist) sh(script string, args ...string) *acpterm.Terminal {
	y.t.Helper()
	terminal, err := y.Create(y.t.Context(), acpterm.CreateTerminalRequest{SessionID: "s", Command: "sh",
		Args: append([]string{"-c", script, "sh"}, args...)}, &acpterm.CommandOptions{PTY: new(acpterm.PTYOptions)})
	require.NoError(y.t, err)
	follow(y.t, terminal, "ready")
	return terminal
}

// follow reads a command's output until it contains want.
func follow(t testing.TB, terminal *acpterm.Terminal, want string) string {
	t.Helper()
	var b strings.Builder
	for chunk := range terminal.Follow(t.Context(), 0) {
		b.WriteString(chunk.Text)
		if strings.Contains(b.String(), want) {
			return b.String()
		}
	}
	t.Fatalf("the output has ended without %q: %q", want, b.String())
	return ""
}

// send sends text, and returns the status.
func (y *typist) send(terminal *acpterm.Terminal, text string, headers ...string) int {
	return y.post(y.viewer, "POST", keyOf(terminal), text, append([]string{"Acp-Terminal", "input"}, headers...)...)
}

func (y *typist) post(v *viewer, method, key, text string, headers ...string) int {
	y.t.Helper()
	return v.request(method, "terminals/"+key+"/input", func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
	}).StatusCode
}

func TestOnlyThePageCanType(t *testing.T) {
	y := newTypist(t, view.Options{Input: true})
	terminal := y.sh("echo ready; read -r line; echo \"<$line>\"")
	key, own := keyOf(terminal), "Acp-Terminal"
	require.Equal(t, http.StatusMethodNotAllowed, y.post(y.viewer, "GET", key, "", own, "input"))
	require.Equal(t, http.StatusMethodNotAllowed, y.post(y.viewer, "PUT", key, "x", own, "input"))
	require.Equal(t, http.StatusForbidden, y.post(y.viewer, "POST", key, "x"))
	for _, headers := range [][]string{
		{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://localhost:1"},
		{"Origin", y.server.URL, "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
	} {
		require.Equal(t, http.StatusForbidden, y.send(terminal, "x", headers...), headers)
	}
	for _, options := range []view.Options{{}, {AllowStop: true}} {
		other := newViewer(t, y.Manager, options)
		require.Equal(t, http.StatusForbidden, y.post(other, "POST", key, "x", own, "input"), "%+v", options)
	}
	require.Equal(t, http.StatusForbidden, y.viewer.stop("x"), "a leave to type is none to stop")
	require.Equal(t, http.StatusNotFound, y.post(y.viewer, "POST", "term_none", "x", own, "input"))
	require.Equal(t, http.StatusRequestEntityTooLarge, y.send(terminal, strings.Repeat("x", maxInput+1)))
	require.Equal(t, http.StatusAccepted, y.send(terminal, ""))
	require.Equal(t, http.StatusAccepted, y.send(terminal, "name\r", "Origin", y.server.URL, "Sec-Fetch-Site",
		"same-origin"))
	<-terminal.Done()
	require.Equal(t, "ready\r\nname\r\n<name>\r\n", follow(t, terminal, "<name>\r\n"), "all others were refused")
	require.Equal(t, http.StatusConflict, y.send(terminal, "x"), "it has ended")
	piped := y.create("s", "sleep", "600")
	require.Equal(t, http.StatusConflict, y.send(piped, "x"), "it has no PTY")
	require.NoError(t, y.Manager.Close()) // after the last event
	require.Len(t, y.events, 1, "one request is one event")
	require.Equal(t, len("name\r"), y.events[0].Bytes)
}

func TestTypedTextsKeepTheirOrderAndNeverMix(t *testing.T) {
	const pages, texts = 6, 40
	y := newTypist(t, view.Options{Input: true})
	terminal := y.sh("stty raw -echo; echo ready; cat")
	var typing sync.WaitGroup
	for page := range pages {
		typing.Go(func() {
			for i := range texts {
				text := fmt.Sprintf("<%d %d %s>", page, i, strings.Repeat("x", 300))
				for y.send(terminal, text) == http.StatusServiceUnavailable {
				}
			}
		})
	}
	typing.Wait()
	y.send(terminal, "the end")
	output := follow(t, terminal, "the end")
	next := [pages]int{}
	for _, text := range strings.SplitAfter(output[strings.Index(output, "<"):], ">") {
		if text == "the end" {
			break
		}
		var page, i int
		var rest string
		_, err := fmt.Sscanf(text, "<%d %d %s", &page, &i, &rest)
		require.NoError(t, err, text)
		require.Equal(t, strings.Repeat("x", 300)+">", rest)
		require.Equal(t, next[page], i)
		next[page]++
	}
	for _, n := range next {
		require.Equal(t, texts, n)
	}
}

// fill types until the queue of a command that does not read is full, one letter per request. It returns the number of
// letters.
func (y *typist) fill(terminal *acpterm.Terminal) (accepted int) {
	y.t.Helper()
	for {
		switch status := y.send(terminal, strings.Repeat(string(rune('a'+accepted)), maxInput)); status {
		case http.StatusAccepted:
			accepted++
		case http.StatusServiceUnavailable:
			return accepted
		default:
			y.t.Fatalf("the status is %d", status)
		}
		require.Less(y.t, accepted, 20, "what waits is bounded")
	}
}

func TestCommandThatDoesNotReadHoldsUpNothing(t *testing.T) {
	y := newTypist(t, view.Options{Input: true})
	deaf := y.sh("stty raw -echo; echo ready; exec sleep 600")
	other := y.sh("stty raw -echo; echo ready; cat")
	require.GreaterOrEqual(t, y.fill(deaf), 4)
	require.Equal(t, http.StatusAccepted, y.send(other, "another command"))
	follow(t, other, "another command")
	require.Equal(t, http.StatusServiceUnavailable, y.send(deaf, "x"))
	require.NoError(t, deaf.Kill(t.Context()))
	require.Equal(t, http.StatusConflict, y.send(deaf, "x"))
	requireNoWriters(t)
}

// requireNoWriters fails unless the goroutines that write to terminals end.
func requireNoWriters(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	require.Eventually(t, func() bool {
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "view.(*inputs).write")
	}, timeout, time.Millisecond)
}

func TestCloseWhileAWriteWaits(t *testing.T) {
	y := newTypist(t, view.Options{Input: true})
	dir := t.TempDir()
	terminal := y.sh(`stty raw -echo; echo ready; while [ ! -e "$1/read" ]; do sleep 0.01; done; exec cat`, dir)
	accepted := y.fill(terminal)
	require.NoError(t, y.view.Close())
	require.Equal(t, http.StatusServiceUnavailable, y.send(terminal, "x"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "read"), nil, 0o600))
	requireNoWriters(t)
	_, err := terminal.Write([]byte("the end")) // comes after everything that the view wrote
	require.NoError(t, err)
	output := follow(t, terminal, "the end")
	written := len(output) - len("ready\n") - len("the end")
	require.Zero(t, written%maxInput, "what was being written is whole")
	require.Less(t, written/maxInput, accepted, "what waited is dropped")
}

func TestCloseWhileARequestIsNotWhole(t *testing.T) {
	y := newTypist(t, view.Options{Input: true}, func(server *httptest.Server) { server.Config.ReadTimeout = 0 })
	terminal := y.sh("echo ready; cat")
	conn := dial(t, y.server.Listener.Addr().String(), "POST "+y.view.Path()+"terminals/"+keyOf(terminal)+
		"/input HTTP/1.1\r\nHost: localhost\r\nAcp-Terminal: input\r\n"+
		"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n")
	status, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, status, "100", "the body is being read")
	io.WriteString(conn, "half of it")
	require.NoError(t, y.view.Close())
	require.Equal(t, "ready\r\n", follow(t, terminal, "ready\r\n"))
}

func TestRowsOfPTYs(t *testing.T) {
	for _, options := range []view.Options{{}, {Input: true}} {
		y := newTypist(t, options)
		terminal := y.sh("echo ready; exec sleep 600")
		table, stream := y.open("events", ""), y.open(output(terminal), "")
		first := func(r tableRow) bool { return r.PTY && r.Columns == 80 && r.Rows == 24 && r.Input == options.Input }
		table.until(first)
		stream.until(first)
		require.NoError(t, terminal.Resize(132, 43))
		require.Equal(t, http.StatusNotFound, y.request("GET", "terminals/"+keyOf(terminal)+"/times", nil).StatusCode)
		second := func(r tableRow) bool { return r.PTY && r.Columns == 132 && r.Rows == 43 && r.Input == options.Input }
		table.until(second)
		stream.until(second)
		require.NoError(t, terminal.Kill(t.Context()))
		last := func(r tableRow) bool { return r.Ended != 0 && r.PTY && !r.Input && r.Columns == 132 }
		table.until(last)
		stream.until(last)
	}
}

// Output drawn for a new size comes after the row with that size, even if the event of the resize is late.
func TestSizeComesBeforeTheOutputForIt(t *testing.T) {
	y := newTypist(t, view.Options{})
	y.hold = make(chan struct{})
	t.Cleanup(func() { close(y.hold) })
	terminal := y.sh("echo ready; while read -r _; do stty size; done")
	stream := y.open(output(terminal), "")
	for i := range 10 {
		columns := 100 + i
		require.NoError(t, terminal.Resize(columns, 43))
		_, err := terminal.Write([]byte("\r"))
		require.NoError(t, err)
		sized := false
		for text := ""; !strings.Contains(text, fmt.Sprintf("43 %d\r\n", columns)); {
			e, ok := stream.next()
			require.True(t, ok)
			switch e.kind {
			case "status":
				sized = sized || decode[struct{ Row tableRow }](t, e.data).Row.Columns == columns
			case "message":
				text += decode[piece](t, e.data).Text
			}
		}
		require.True(t, sized)
	}
}

// A page that may type resizes a PTY.
func TestResizing(t *testing.T) {
	y := newTypist(t, view.Options{Input: true})
	terminal := y.sh("echo ready; exec sleep 600")
	resize := func(y *typist, query string, change func(*http.Request)) int {
		return y.request("POST", "terminals/"+keyOf(terminal)+"/size?"+query, change).StatusCode
	}
	mayChange := func(r *http.Request) { r.Header.Set("Acp-Terminal", "size") }
	require.Equal(t, http.StatusNoContent, resize(y, "columns=132&rows=43", mayChange))
	require.Equal(t, acpterm.TerminalSize{Columns: 132, Rows: 43}, *terminal.Info().Size)
	for query, want := range map[string]int{
		"": http.StatusBadRequest, "columns=80": http.StatusBadRequest, "columns=x&rows=24": http.StatusBadRequest,
		"columns=0&rows=24": http.StatusBadRequest, "columns=80&rows=1001": http.StatusBadRequest,
	} {
		require.Equal(t, want, resize(y, query, mayChange), query)
	}
	require.Equal(t, http.StatusForbidden, resize(y, "columns=80&rows=24", func(*http.Request) {}))
	require.Equal(t, http.StatusForbidden, resize(y, "columns=80&rows=24", func(r *http.Request) {
		mayChange(r)
		r.Header.Set("Origin", "https://evil.example")
	}))
	require.Equal(t, http.StatusNotFound, y.request("POST", "terminals/none/size?columns=80&rows=24", mayChange).StatusCode)
	require.NoError(t, terminal.Kill(t.Context()))
	require.Equal(t, http.StatusNoContent, resize(y, "columns=80&rows=24", mayChange), "it has ended")
	require.Equal(t, acpterm.TerminalSize{Columns: 132, Rows: 43}, *terminal.Info().Size)

	readOnly := newTypist(t, view.Options{})
	terminal = readOnly.sh("echo ready; exec sleep 600")
	require.Equal(t, http.StatusForbidden, resize(readOnly, "columns=80&rows=24", mayChange))
}
