package mcpserver

// Attacks over HTTP. All of them fail.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/acpterm/acpterm"
)

// tokenOf returns the token of an HTTP entry.
func tokenOf(e *Entry) string { return strings.TrimPrefix(e.Headers[0].Value, "Bearer ") }

func TestWrongTokens(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e, closed := f.entry(agentHTTP), f.entry(agentHTTP)
	require.NoError(t, closed.Close())
	token := tokenOf(e)
	for _, value := range []string{
		"", "Bearer", "Bearer ", "Bearer x", "Basic " + token, token, "Bearer " + token + "A", "Bearer " + token[1:],
		"Bearer " + strings.ToLower(token), "Bearer " + tokenOf(closed), "Bearer " + token + " " + token,
	} {
		for _, method := range []string{"POST", "GET", "DELETE", "PUT", "OPTIONS"} {
			r := f.request(e, method, initializeRequest)
			r.Header.Set("Authorization", value)
			response, body := f.send(r)
			require.Equal(t, http.StatusUnauthorized, response.StatusCode, "%s %s", method, value)
			require.NotContains(t, body, token)
			require.Empty(t, response.Header.Get("Access-Control-Allow-Origin"))
		}
	}
	r := f.request(e, "POST", initializeRequest)
	r.Header.Del("Authorization")
	r.URL.RawQuery = "access_token=" + token
	require.Equal(t, http.StatusUnauthorized, f.status(r))
	f.initialize(e)
}

// A token expires when its entry is closed, even on an open connection and for a known session.
func TestExpiredTokens(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e, kept := f.entry(agentHTTP), f.entry(agentHTTP)
	id := f.initialize(e)
	connections := new(http.Transport)
	defer connections.CloseIdleConnections()
	status := func(of *Entry, method, id, body string) int {
		r := f.request(of, method, body)
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		response, err := connections.RoundTrip(r)
		require.NoError(t, err)
		defer response.Body.Close()
		io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
	require.Equal(t, http.StatusOK, status(e, "POST", id, listRequest))
	require.NoError(t, e.Close())
	for _, id := range []string{"", id} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			require.Equal(t, http.StatusUnauthorized, status(e, method, id, initializeRequest))
		}
	}
	require.Equal(t, http.StatusNotFound, status(kept, "POST", id, listRequest))
	require.Zero(t, f.manager.Stats().Sessions)
	f.initialize(kept)

	require.NoError(t, f.server.Close())
	require.Equal(t, http.StatusServiceUnavailable, status(kept, "POST", "", initializeRequest))
	require.NoError(t, f.listener.Close())
	_, err := connections.RoundTrip(f.request(kept, "POST", initializeRequest))
	require.Error(t, err)
}

func TestDNSRebinding(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentHTTP)
	_, port, _ := net.SplitHostPort(f.listener.addr)
	for _, host := range []string{
		"evil.example", "evil.example:" + port, "127.0.0.1", "127.0.0.1:1", "127.0.0.2:" + port, "localhost",
		"localhost.evil.example:" + port, "0.0.0.0:" + port, "[::1]:" + port,
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			r := f.request(e, method, initializeRequest)
			r.Host = host
			require.Equal(t, http.StatusForbidden, f.status(r), host)
		}
	}
	r := f.request(e, "POST", initializeRequest)
	r.Host = "localhost:" + port
	require.Equal(t, http.StatusOK, f.status(r))
}

func TestDefaultPort(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	status := func(addr, host string) int {
		r := httptest.NewRequest("GET", "/mcp", nil)
		r.Host = host
		w := httptest.NewRecorder()
		(&Listener{addr: addr}).checkHost(ok).ServeHTTP(w, r)
		return w.Code
	}
	for _, host := range []string{"127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80"} {
		require.Equal(t, http.StatusOK, status("127.0.0.1:80", host), host)
	}
	for _, host := range []string{"", "127.0.0.1:8", "127.0.0.2", "[::1]", "evil.example"} {
		require.Equal(t, http.StatusForbidden, status("127.0.0.1:80", host), host)
	}
	require.Equal(t, http.StatusOK, status("[::1]:80", "[::1]"))
	require.Equal(t, http.StatusForbidden, status("127.0.0.1:8080", "127.0.0.1"))
}

func TestCSRF(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentHTTP)
	for name, value := range map[string]string{
		"Origin": "http://evil.example", "origin": "null", "ORIGIN": "https://" + f.listener.addr,
		"oRIGIN": "http://127.0.0.1:1", "Sec-Fetch-Site": "cross-site", "sec-fetch-site": "same-site",
	} {
		r := f.request(e, "POST", initializeRequest)
		r.Header.Set(name, value)
		require.Equal(t, http.StatusForbidden, f.status(r), "%s: %s", name, value)
	}
	for _, method := range []string{"GET", "DELETE", "OPTIONS"} { // OPTIONS is a preflight
		r := f.request(e, method, "")
		r.Header.Set("Origin", "http://evil.example")
		response, _ := f.send(r)
		require.Equal(t, http.StatusForbidden, response.StatusCode)
		require.Empty(t, response.Header.Get("Access-Control-Allow-Origin"))
	}
	for _, simple := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
		r := f.request(e, "POST", initializeRequest)
		r.Header.Set("Content-Type", simple)
		require.Equal(t, http.StatusUnsupportedMediaType, f.status(r), simple)
	}
	r := f.request(e, "POST", initializeRequest)
	r.Header.Set("Origin", "http://"+f.listener.addr)
	require.Equal(t, http.StatusOK, f.status(r))
}

func TestForeignSessions(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	mine, other := f.entry(agentHTTP), f.entry(agentHTTP)
	s := f.connect(mine)
	terminal := f.start(s)
	for _, e := range []*Entry{other, mine} {
		for _, id := range []string{s.ID(), "x", string(terminal.SessionID())} {
			if e == mine && id == s.ID() {
				continue
			}
			for _, method := range []string{"POST", "GET", "DELETE"} {
				r := f.request(e, method, listRequest)
				r.Header.Set("Mcp-Session-Id", id)
				require.Equal(t, http.StatusNotFound, f.status(r))
			}
		}
	}
	stranger := f.connect(other)
	for _, tool := range []string{"output", "wait", "kill", "release"} {
		require.Contains(t, fails(t, stranger, tool, object{"id": string(terminal.ID())}), "not found")
	}
	l, _ := call[listResult](t, stranger, "list", nil)
	require.Empty(t, l.Commands)
	require.Equal(t, acpterm.StateRunning, terminal.Info().State)
	require.NoError(t, s.Ping(t.Context(), nil))
}

func TestEndlessBodies(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{MaxBody: 1 << 20})
	e := f.entry(agentHTTP)
	r := f.request(e, "POST", "")
	r.Body = io.NopCloser(spaces{}) // chunked
	r.ContentLength = -1
	f.tooLarge(r, http.StatusRequestEntityTooLarge)

	r = f.request(e, "POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":"`+strings.Repeat("x", 1<<20)+`"}`)
	f.tooLarge(r, http.StatusRequestEntityTooLarge)

	r = f.request(e, "POST", " \n["+initializeRequest+","+listRequest+"]")
	response, body := f.send(r)
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	require.Contains(t, body, "batches")

	r = f.request(e, "POST", initializeRequest)
	r.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	f.tooLarge(r, http.StatusRequestHeaderFieldsTooLarge)
	require.Empty(t, e.links)
}

// tooLarge sends a request that is refused. The connection may be closed before the response is read.
func (f *front) tooLarge(r *http.Request, status int) {
	f.Helper()
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err == nil {
		response.Body.Close()
		require.Equal(f, status, response.StatusCode)
	}
}

// spaces is endless.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// Messages that are long, apart from the arguments of a call. Decoded, they would use up the memory of the host.
func TestLongMetadata(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{})
	long := json.RawMessage("[" + strings.Repeat("[],", maxAround/3) + "[]]")
	over := f.entry(agentHTTP)
	id := f.initialize(over)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"x":` + string(long) + `}}}`
	require.Equal(t, http.StatusRequestEntityTooLarge, f.ask(over, id, list))
	require.Equal(t, http.StatusRequestEntityTooLarge, f.ask(over, id, strings.Replace(list, "_meta", `arguments":{},"x`, 1)))
	require.Equal(t, http.StatusOK, f.ask(over, id, listRequest))

	relayed := f.connect(f.entry(agentStdio))
	_, err := relayed.ListTools(t.Context(), &mcp.ListToolsParams{Meta: mcp.Meta{"x": long}})
	require.ErrorContains(t, err, errAround.Error())
	require.NoError(t, relayed.Ping(t.Context(), nil))
}

func TestTooManySessions(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{MaxSessions: 2})
	e, other := f.entry(agentHTTP), f.entry(agentHTTP)
	for range 5 { // those that fail do not count
		require.Equal(t, http.StatusBadRequest, f.status(f.request(e, "POST", "{")))
		f.send(f.request(e, "POST", listRequest))
	}
	require.Eventually(t, func() bool { return f.manager.Stats().Sessions == 0 }, time.Minute, time.Millisecond)
	s := f.connect(e)
	f.connect(e)
	response, body := f.send(f.request(e, "POST", initializeRequest))
	require.Equal(t, http.StatusTooManyRequests, response.StatusCode, body)
	f.connect(other)
	require.NoError(t, s.Close())
	f.connect(e)

	relayed := f.entry(agentStdio)
	f.connect(relayed)
	f.connect(relayed)
	err := exchange(relayCommand(relayed), "")
	require.ErrorContains(t, err, "exit status 1")
}

func TestSlowClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for the server's timeouts")
	}
	f := newFront(t, blocking, ListenOptions{})
	e := f.entry(agentHTTP)
	start := "POST /mcp HTTP/1.1\r\nHost: " + f.listener.addr + "\r\n"
	whole := start + "Content-Type: application/json\r\nAccept: */*\r\nContent-Length: 1000\r\n"
	t.Run("a relay without a token", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS == "windows" {
			t.Skip("it is a named pipe")
		}
		io.Copy(io.Discard, f.dialRelay(f.entry(agentStdio))) // until the listener closes it
	})
	for name, sent := range map[string]string{
		"nothing": "", "half a header": start,
		"half a body without a token": whole + "\r\n{",
		"half a body":                 whole + "Authorization: " + e.Headers[0].Value + "\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := f.dial("tcp", f.listener.addr)
			_, err := io.WriteString(conn, sent)
			require.NoError(t, err)
			io.Copy(io.Discard, conn) // until the server closes it
			require.Empty(t, e.links)
		})
	}
}

func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	f := newFront(t, blocking, ListenOptions{headerTimeout: time.Hour})
	e, other := f.entry(agentHTTP), f.entry(agentHTTP)
	s := f.connect(e)
	var idle []net.Conn
	for range 2 * maxUnadmitted { // without a token
		conn := f.dial("tcp", f.listener.addr)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		idle = append(idle, conn)
	}
	f.initialize(other) // on a connection that is accepted after them
	_, err := idle[0].Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, s.Ping(t.Context(), nil))

	id := f.initialize(other)
	refused := 0
	for range maxConnections + 1 { // with a token
		conn := f.dial("tcp", f.listener.addr)
		fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAuthorization: %s\r\n"+
			"Mcp-Session-Id: %s\r\n\r\n", f.listener.addr, other.Headers[0].Value, id)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		if response.StatusCode == http.StatusServiceUnavailable {
			refused++
		}
	}
	require.Equal(t, 1, refused)
	require.NoError(t, s.Ping(t.Context(), nil))
}
