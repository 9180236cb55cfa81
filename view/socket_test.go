package view_test

// Streams over WebSockets.

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
	"github.com/acpterm/acpterm/acptermtest"
	"github.com/acpterm/acpterm/view"
)

// socket opens a stream over a WebSocket.
func (v *viewer) socket(path string, header http.Header) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(v.t.Context(), timeout)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, v.server.URL+v.view.Path()+path, &websocket.DialOptions{
		HTTPClient: v.server.Client(), HTTPHeader: header,
	})
	if err == nil {
		v.t.Cleanup(func() { conn.CloseNow() })
	}
	return conn, response, err
}

// next reads a message, and answers it.
func next(t *testing.T, conn *websocket.Conn) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	_, text, err := conn.Read(ctx)
	if err == nil {
		err = conn.Write(ctx, websocket.MessageText, nil)
	}
	return string(text), err
}

// messages reads messages until their text contains until, and returns the text.
func messages(t *testing.T, conn *websocket.Conn, until string) string {
	var all strings.Builder
	for !strings.Contains(all.String(), until) {
		text, err := next(t, conn)
		require.NoError(t, err, all.String())
		all.WriteString(text)
	}
	return all.String()
}

func TestSocket(t *testing.T) {
	v, terminal, texts := newSteps(t)
	path := strings.TrimPrefix(v.view.TerminalPath("s", terminal.ID()), v.view.Path()) + "/output"
	conn, _, err := v.socket(path, nil)
	require.NoError(t, err)
	require.Contains(t, messages(t, conn, "event: status"), "heartbeat: 5000\n")
	texts <- "one\n"
	first := messages(t, conn, `"text":"one\n"`)
	texts <- "two\n"
	messages(t, conn, `"text":"two\n"`)

	// A stream that continues after an event.
	id := first[strings.Index(first, "id: ")+4:]
	id = id[:strings.Index(id, "\n")]
	again, _, err := v.socket(path+"?after="+id, nil)
	require.NoError(t, err)
	all := messages(t, again, `"text":"two\n"`)
	require.NotContains(t, all, `"text":"one`)

	close(texts)
	messages(t, conn, "event: end")
	_, err = next(t, conn)
	require.Error(t, err, "the server closes it")
	list, _, err := v.socket("events", nil)
	require.NoError(t, err)
	messages(t, list, "event: table")
	require.NoError(t, v.view.Close())
	for err == nil {
		_, err = next(t, list)
	}
	_, err = next(t, again)
	for err == nil {
		_, err = next(t, again)
	}
}

// A page that has not shown its last message receives no more, and then everything at once.
func TestSocketOfASlowPage(t *testing.T) {
	v, terminal, texts := newSteps(t)
	path := strings.TrimPrefix(v.view.TerminalPath("s", terminal.ID()), v.view.Path()) + "/output"
	slow, _, err := v.socket(path, nil)
	require.NoError(t, err)
	_, hello, err := slow.Read(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(hello), "heartbeat: ")
	fast, _, err := v.socket(path, nil)
	require.NoError(t, err)
	for _, text := range []string{"one", "two", "three", "four"} {
		texts <- text + "\n"
		messages(t, fast, `"text":"`+text+`\n"`)
	}
	require.NoError(t, slow.Write(t.Context(), websocket.MessageText, nil))
	rest := messages(t, slow, `four\n"`)
	require.LessOrEqual(t, strings.Count(rest, `"text":`), 2, rest) // the server had only one message ready
	close(texts)
}

func TestSocketsOfOthers(t *testing.T) {
	v := newViewer(t, made(t, nil, acpterm.Options{}), view.Options{MaxStreams: 1})
	for name, header := range map[string]http.Header{
		"origin": {"Origin": {"https://evil.example"}}, "site": {"Sec-Fetch-Site": {"cross-site"}},
	} {
		_, response, err := v.socket("events", header)
		require.Error(t, err, name)
		require.Equal(t, http.StatusForbidden, response.StatusCode)
	}
	_, response, err := v.socket("terminals/none/output", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, response.StatusCode)

	conn, _, err := v.socket("events", http.Header{"Origin": {v.server.URL}})
	require.NoError(t, err)
	messages(t, conn, "event: table")
	_, response, err = v.socket("events", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode, "the others were given back")
}

// Output that is there already comes in few messages, because a page that is far away waits for each.
func TestSocketHasFewMessages(t *testing.T) {
	text := strings.Repeat("a line of a build\n", 50_000)
	v := newViewer(t, made(t, acptermtest.Commands{"make": acptermtest.Print(text, 0)}, acpterm.Options{}), view.Options{})
	terminal := v.create("s", "make")
	<-terminal.Done()
	conn, _, err := v.socket(strings.TrimPrefix(v.view.TerminalPath("s", terminal.ID()), v.view.Path())+"/output", nil)
	require.NoError(t, err)
	conn.SetReadLimit(2 * int64(len(text)))
	var all strings.Builder
	count := 0
	for ; !strings.Contains(all.String(), "event: end"); count++ {
		message, err := next(t, conn)
		require.NoError(t, err)
		all.WriteString(message)
	}
	require.Equal(t, strings.Count(text, "\n"), strings.Count(all.String(), `\n`))
	require.LessOrEqual(t, count, 6)
}
